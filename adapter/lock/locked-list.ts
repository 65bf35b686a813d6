import { insertMember } from '../catalog/insert-member.ts';
import { elements, locate, type Span, splice } from '../exchange/scanning/json-scan.ts';
import { type LockDocument, type LockKind, type ServerLock } from '../../crds/config/lock-file/lock-document.ts';
import { type Compared, comparedList, type ComparedList } from './compare.ts';

/** Where a definition says which of its fields differ (mode `audit`): a list of their names. */
export const DRIFT_KEY = 'mcpadapter.io/drift';

/** What a lock says of one server. */
export interface LockRules extends Pick<LockDocument, 'mode' | 'newTools'> {
  /** Stands for the lock. */
  readonly key: string;
  /** Undefined where it does not name the server. */
  readonly server: ServerLock | undefined;
}

/** Why a definition must not be used: what of it differs, or that clients do not know it. */
export type LockRefusal = { readonly drifted: readonly string[] } | 'unknown';

/** A list of an upstream as far as a lock allows it. */
export class LockedList {
  /** Stands for the lock that it was compared with. */
  readonly key: string;
  /** JSON text, the upstream's. */
  readonly whole: string;
  /** JSON text, the same where nothing is hidden. */
  readonly list: string;
  readonly compared: ComparedList;
  readonly #rules: LockRules;
  /** By name; undefined for what may be used. */
  readonly #refusals: ReadonlyMap<string, LockRefusal | undefined>;
  /** By name, in mode `audit`. */
  readonly #marks: ReadonlyMap<string, readonly string[]>;

  constructor(list: string, spans: readonly Span[], compared: ComparedList, rules: LockRules) {
    const { entries } = compared;
    const isAudit = rules.mode === 'audit';
    this.key = rules.key;
    this.whole = list;
    this.compared = compared;
    this.#rules = rules;
    this.#refusals = new Map(entries.map((entry) => [entry.name, isAudit ? undefined : refusalOf(entry, rules)]));
    const drifted = entries.filter(({ state }) => isAudit && state === 'drift');
    this.#marks = new Map(drifted.map(({ name, fields }) => [name, fields]));
    this.list = this.#allowed(list, spans);
  }

  /** Why something of this name must not be used; undefined where it may be. */
  refusal(name: string): LockRefusal | undefined {
    if (this.#refusals.has(name)) return this.#refusals.get(name);
    // What the server does not list was removed, or was never approved.
    const isAllowed = this.#rules.newTools === 'allow' && !this.compared.removed.includes(name);
    return this.#rules.mode === 'audit' || isAllowed ? undefined : 'unknown';
  }

  /** The first page (JSON text of a list) of this list: the start of its text. */
  page(list: string): string {
    return this.#allowed(list, [...elements(list)]);
  }

  /** Whether anything is marked. */
  get marks(): boolean {
    return this.#marks.size > 0;
  }

  /** A definition (JSON text) that names in its `_meta` which fields differ; the same where none do. */
  marked(name: string | undefined, definition: string): string {
    const fields = this.#marks.get(name ?? '');
    if (fields === undefined || !definition.startsWith('{')) return definition;
    const names = JSON.stringify(fields);
    const meta = locate(definition, ['_meta']);
    const whole = { start: 0, end: definition.length };
    if (meta === undefined) {
      const value = `{${JSON.stringify(DRIFT_KEY)}:${names}}`;
      return splice(definition, [insertMember(definition, whole, '_meta', value)]);
    }
    if (definition.charAt(meta.start) !== '{') return definition;
    return splice(definition, [insertMember(definition, meta, DRIFT_KEY, names)]);
  }

  #allowed(list: string, spans: readonly Span[]): string {
    if ([...this.#refusals.values()].every((refusal) => refusal === undefined)) return list;
    const { entries } = this.compared;
    const kept = spans.filter((_, i) => this.#refusals.get(entries[i]?.name ?? '') === undefined);
    return `[${kept.map(({ start, end }) => list.slice(start, end)).join(',')}]`;
  }
}

/**
 * Compares a list (JSON text) with a lock. Takes a step for each definition, so that a long list does not have to be compared
 * in one go.
 */
export function* lockedList(kind: LockKind, list: string, rules: LockRules): Generator<void, LockedList> {
  const spans = [...elements(list)];
  const definitions = spans.map(({ start, end }) => list.slice(start, end));
  const compared = yield* comparedList(kind, definitions, rules.server?.[kind]);
  return new LockedList(list, spans, compared, rules);
}

function refusalOf({ state, fields }: Compared, { newTools }: LockRules): LockRefusal | undefined {
  if (state === 'same' || (state === 'new' && newTools === 'allow')) return undefined;
  return state === 'new' ? 'unknown' : { drifted: fields };
}
