import type { OwnerReference } from '../../kubernetes/kubernetes.ts';
import type { BuildContext } from './build-context.ts';
import { DEFAULT_PORT, type EffectiveSettings, effectiveSettings } from '../group/effective-settings.ts';
import type { Group } from '../group/group.ts';
import type { Member } from '../group/prepare.ts';
import { renderFile } from '../group/scraper-file.ts';
import { podFields, scraperSection } from '../group/settings.ts';
import { type ShardVariables, shardVariables } from '../group/shard-variables.ts';
import { shardsOf } from '../group/shards.ts';

/** One shard: everything that its objects are made of. */
export interface ShardPlan {
  readonly group: string;
  readonly namespace: string;
  /** Counted from 1. */
  readonly shard: number;
  readonly members: readonly Member[];
  readonly variables: ShardVariables;
  /** Section `scraper` of the file. */
  readonly scraper: Readonly<Record<string, unknown>>;
  readonly file: string;
  readonly replicas: number;
  readonly pod: ReturnType<typeof podFields>;
  readonly restartedAt: string | undefined;
  readonly owners: readonly OwnerReference[];
  /** What who operates the pods has to know: the uid of the oldest source that runs. Undefined without a cluster. */
  readonly adminKey: string | undefined;
  /** What of `scraper` and the members is known. */
  readonly effective: EffectiveSettings;
}

/** How the sources of a group are spread over shards, and what the shards run. Of a group without members: none. */
export function plan(
  group: Group,
  context: Pick<BuildContext, 'namespace' | 'name' | 'owners' | 'shards'>,
): ShardPlan[] {
  if (group.members.length === 0) return [];
  const pod = podFields(group.settings);
  // Written out, because pods without rights may not open the scraper's own default, 80.
  const scraper = { servicePort: DEFAULT_PORT, ...scraperSection(group.settings) };
  const [oldest] = group.members;
  const adminKey = context.owners.find(({ name }) => name === oldest?.resource)?.uid || undefined;
  const shards = shardsOf(group.members, context.shards);
  const shardOf = new Map(shards.flatMap((shard, index) => shard.map(({ resource }) => [resource, index] as const)));
  return shards.map((shard, index) => {
    const variables = shardVariables(shard, group.members, group.settings);
    const texts = shard.map(({ text }) => text);
    return {
      group: context.name,
      namespace: context.namespace,
      shard: index + 1,
      members: shard,
      variables,
      scraper,
      file: renderFile(scraper, texts),
      replicas: Math.ceil((pod.replicas ?? 1) / shards.length),
      pod,
      restartedAt: group.restartedAt,
      adminKey,
      effective: effectiveSettings({ scraper, members: shard, variables }),
      owners: context.owners.filter(({ name }) => (shardOf.get(name) ?? 0) === index),
    };
  });
}
