import type { Problem } from '../../../crds/config/load/problem.ts';
import { dottedPath } from '../../../crds/config/load/problem.ts';
import { valueAt } from '../../../lib/json/tree.ts';
import type { ApiScrapeSource } from '../../../crds/v1alpha1/api-scrape-source.ts';
import { RESTARTED_AT } from '../../pods/annotations.ts';
import { problemsText } from '../../validation/problems-text.ts';
import { checkGroupSettings } from './check.ts';
import type { Member, Prepare } from './prepare.ts';
import type { Running } from './running.ts';
import {
  type Setting,
  type Settings,
  conflictWith,
  foreignAddition,
  foreignSetting,
  scraperSection,
} from './settings.ts';

/** Of sources that name none. */
export const DEFAULT_GROUP = 'default';

/** The group that runs a source. */
export const groupNameOf = ({ spec }: Pick<ApiScrapeSource, 'spec'>): string => spec.group ?? DEFAULT_GROUP;

/** Why a source, or its newest spec, does not run. */
export interface Refusal {
  readonly reason: 'GroupConflict' | 'MissingSetting' | 'InvalidSpec' | 'DuplicateName' | 'UndeclaredVariable';
  readonly message: string;
  /** Whether the source goes on as it ran before. */
  readonly held: boolean;
}

export interface Group {
  readonly settings: Settings;
  /** Oldest first. Empty when nothing can run; the pods are then left as they are. */
  readonly members: readonly Member[];
  /** By the name of the resource. */
  readonly refusals: ReadonlyMap<string, Refusal>;
  /** Names of the resources that pause the group. */
  readonly pausedBy: readonly string[];
  /** Names of running resources whose wrong edit concerns the pods themselves, which then stay as they are. */
  readonly frozenBy: readonly string[];
  /** The newest of the times at which resources asked for a restart. */
  readonly restartedAt: string | undefined;
}

export interface GroupContext {
  /** Used when no source sets `scraper.otelCollectorEndpoint`. */
  readonly otlpEndpoint: string | undefined;
  /** What the pods run now; a source whose edit is invalid goes on with it. */
  readonly running: () => Running | undefined;
  /** Remembers what it made of a resource: of thousands, only few change at a time. */
  readonly prepare: Prepare;
}

const ENDPOINT = 'scraper.otelCollectorEndpoint';

/** Decides what the sources of one group come to. The order in which they are given does not matter. */
export function groupOf(sources: readonly ApiScrapeSource[], context: GroupContext): Group {
  const ordered = sources.toSorted(byAge);
  const all = gather(ordered, context, false);
  // Each source may be fine and all together not, for example when replicas need another store: then the youngest that
  // makes it so is refused.
  const sound = checkGroupSettings(scraperSection(all.settings), all.settings).length === 0;
  const collected = sound ? all : gather(ordered, context, true);
  const pausedBy = ordered.filter(({ spec }) => spec.paused === true).map(({ metadata }) => metadata.name);

  const restartedAt = ordered
    .flatMap(({ metadata }) => metadata.annotations?.[RESTARTED_AT] ?? [])
    .reduce<string | undefined>((newest, one) => (newest === undefined || one > newest ? one : newest), undefined);

  const { settings, members, refusals } = collected;
  const common = { settings, refusals, pausedBy, restartedAt, frozenBy: collected.frozenBy };
  if (!settings.has(ENDPOINT)) {
    const message = `no source of the group sets spec.${ENDPOINT}; set it in one of them`;
    for (const { resource } of members) {
      if (!refusals.has(resource)) refusals.set(resource, { reason: 'MissingSetting', message, held: false });
    }
    return { ...common, members: [] };
  }
  return { ...common, members };
}

interface Gathered {
  readonly settings: Map<string, Setting>;
  readonly members: Member[];
  readonly refusals: Map<string, Refusal>;
  readonly frozenBy: string[];
}

function gather(
  ordered: readonly ApiScrapeSource[],
  { otlpEndpoint, running, prepare }: GroupContext,
  oneByOne: boolean,
): Gathered {
  let settings = new Map<string, Setting>();
  const members: Member[] = [];
  const refusals = new Map<string, Refusal>();
  const names = new Map<string, string>();
  const frozenBy: string[] = [];
  const ages = new Map(ordered.map(({ metadata }) => [metadata.name, metadata.creationTimestamp]));
  let oldest: ApiScrapeSource['metadata'] | undefined;

  for (const source of ordered) {
    const { name: resource } = source.metadata;
    const { problems, settings: declared, member: valid } = prepare(source);
    const former = problems.length === 0 ? undefined : running()?.members.get(resource);
    const member = problems.length === 0 ? valid : former;
    const own = problems.length === 0 ? declared : formerSettings(declared, running());
    const refuse = (reason: Refusal['reason'], message: string, held = false): void => {
      refusals.set(resource, { reason, message, held });
    };

    if (problems[0] !== undefined) refuse(problems[0].reason, problemsText(problems.map(inSpec)), former !== undefined);
    if (member === undefined) continue;
    if (problems.some(({ path }) => POD_FIELD.test(path))) frozenBy.push(resource);

    const name = String(member.entry['name']);
    const namesake = names.get(name);
    if (namesake !== undefined) {
      refuse(
        'DuplicateName',
        `spec.source.name is ${JSON.stringify(name)}, which the older source ${namesake} of this group has already`,
      );
      continue;
    }

    // Resources that were applied together have the same age: times have seconds only.
    const elder = oldest?.creationTimestamp === source.metadata.creationTimestamp ? undefined : oldest;
    const isOlder = (other: string): boolean => ages.get(other) !== source.metadata.creationTimestamp;
    const foreign =
      (elder === undefined ? undefined : foreignSetting(settings, own, elder.name)) ??
      foreignAddition(settings, own, isOlder);
    if (foreign !== undefined) {
      refuse('InvalidSpec', foreign);
      continue;
    }

    const conflict = own.map((setting) => conflictWith(settings, setting)).find((one) => one !== undefined);
    const added = own.filter((setting) => !settings.has(dottedPath(setting.path)));
    const merged = new Map([...settings, ...added.map((one) => [dottedPath(one.path), one] as const)]);
    const together =
      oneByOne && conflict === undefined && added.length > 0
        ? problemsText(checkGroupSettings(scraperSection(merged), merged).map(inSpec))
        : '';
    if (conflict !== undefined || together !== '') {
      if (problems.length === 0) {
        if (conflict !== undefined) refuse('GroupConflict', conflict);
        else refuse('InvalidSpec', together);
        continue;
      }
    } else settings = merged;
    names.set(name, resource);
    members.push(member);
    oldest ??= source.metadata;
  }
  if (otlpEndpoint !== undefined && !settings.has(ENDPOINT)) {
    settings.set(ENDPOINT, {
      path: ['scraper', 'otelCollectorEndpoint'],
      value: otlpEndpoint,
      written: otlpEndpoint,
      comparable: JSON.stringify(otlpEndpoint),
      source: undefined,
    });
  }
  return { settings, members, refusals, frozenBy };
}

/**
 * What a source that goes on as before says about the group: the values that the pods run with, so that a wrong edit of
 * one source does not change the settings of the others.
 */
function formerSettings(settings: readonly Setting[], running: Running | undefined): Setting[] {
  return settings.flatMap((setting) => {
    if (setting.path[0] !== 'scraper') return [setting];
    const value = valueAt(running?.settings, setting.path.slice(1));
    return value === undefined ? [] : [{ ...setting, value }];
  });
}

/** Fields whose former value is not known. */
const POD_FIELD = /^(podOverlay|resources|image\w*|networkPolicy|replicas|storage)\b/;

function byAge({ metadata: a }: ApiScrapeSource, { metadata: b }: ApiScrapeSource): number {
  const [left, right] = [a.creationTimestamp ?? '', b.creationTimestamp ?? ''];
  if (left !== right) return left < right ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}

const inSpec = ({ path, message }: Pick<Problem, 'path' | 'message'>) => ({ path: `spec.${path}`, message });
