import type { EnvFrom, EnvVar } from '../../../crds/v1alpha1/api.ts';
import { dottedPath } from '../../../crds/config/load/problem.ts';
import { renameReferences } from '../../../lib/references/reference.ts';
import type { Member } from './prepare.ts';
import { NAMES_VARIABLE, type Settings } from './settings.ts';

/** The variables of a shard's container. */
export interface ShardVariables {
  readonly env: EnvVar[];
  readonly envFrom: EnvFrom[];
}

/**
 * Those of the sources that the shard runs, and those that the settings of the group refer to: their source may run in
 * another shard. Of that source nothing else is brought, but all of an `envFrom` from which a setting may come, because
 * nobody knows which names it has.
 * @param members of the whole group
 */
export function shardVariables(
  shard: readonly Member[],
  members: readonly Member[],
  settings: Settings,
): ShardVariables {
  const own = new Set(shard);
  const names = namesIn(settings);
  const others = members.filter((one) => !own.has(one)).map((one) => neededOf(one, names));
  const all = [...shard, ...others];
  return { env: all.flatMap(({ env }) => env), envFrom: all.flatMap(({ envFrom }) => envFrom) };
}

/** Variables that the section `scraper` refers to, or names. */
function namesIn(settings: Settings): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { path, value } of settings.values()) {
    if (path[0] !== 'scraper' || typeof value !== 'string') continue;
    if (dottedPath(path) === NAMES_VARIABLE) names.add(value);
    renameReferences(value, (name) => {
      names.add(name);
      return name;
    });
  }
  return names;
}

function neededOf({ env, envFrom }: Member, settings: ReadonlySet<string>): ShardVariables {
  const needed = new Set(settings);
  // A variable is put together from earlier ones only.
  for (const { name, value = '' } of env.toReversed()) {
    if (needed.has(name)) for (const [, other = ''] of value.matchAll(/\$\(([^)]*)\)/g)) needed.add(other);
  }
  const declared = new Set(env.map(({ name }) => name));
  const undeclared = [...settings].filter((name) => !declared.has(name));
  return {
    env: env.filter(({ name }) => needed.has(name)),
    envFrom: envFrom.filter(({ prefix = '' }) => undeclared.some((name) => name.startsWith(prefix))),
  };
}
