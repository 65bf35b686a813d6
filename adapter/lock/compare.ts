import { canonical } from './canonical.ts';
import { digestOf } from './digest-of.ts';
import {
  LOCK_KINDS,
  type LockEntry,
  type LockKind,
  type ServerLock,
} from '../../crds/config/lock-file/lock-document.ts';
import { readDefinition } from './read-definition.ts';
import type { ServerLists } from './server-lists.ts';

/** What one definition of a list is, compared with the lock. */
export interface Compared {
  /** Its name, or its URI template; '' without one. Words of the upstream. */
  readonly name: string;
  /** `new`: the lock does not name it. */
  readonly state: 'same' | 'drift' | 'new';
  /**
   * What differs, in the order of the lock: fields of the kind; the member that names it, where it is missing or two
   * have the same; `digest` where only that differs, so that the lock contradicts itself. Empty unless it drifts.
   */
  readonly fields: readonly string[];
  /** Digest that was approved, of what drifts; undefined where the lock does not name it. */
  readonly locked?: string;
}

export interface ComparedList {
  /** One for each definition, in the order of the list. */
  readonly entries: readonly Compared[];
  /** Names in the lock that the list does not have. */
  readonly removed: readonly string[];
}

/** How what a server says of itself is compared. */
export type ComparedInstructions = 'same' | 'drift' | 'new' | 'removed';

export interface ComparedServer extends Readonly<Record<LockKind, ComparedList>> {
  readonly instructions: ComparedInstructions;
}

type Entries = Readonly<Record<string, LockEntry>>;

const NONE: Entries = {};

/** @param lock undefined where the lock does not name the server: all of it is new then */
export function compareServer(lists: ServerLists, lock: ServerLock | undefined): ComparedServer {
  return {
    tools: atOnce(comparedList('tools', lists.tools, lock?.tools)),
    prompts: atOnce(comparedList('prompts', lists.prompts, lock?.prompts)),
    resourceTemplates: atOnce(comparedList('resourceTemplates', lists.resourceTemplates, lock?.resourceTemplates)),
    instructions: compareInstructions(lists.instructions, lock),
  };
}

function atOnce<T>(steps: Generator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/**
 * Takes a step for each definition, so that a long list does not have to be compared in one go.
 *
 * A name that occurs twice is drift for all that have it, also where they are equal or new: which of them is called is
 * not ours to say. What has no canonical text is drift, also where it is new: nobody can approve it.
 * @param definitions the upstream's own, JSON texts
 */
export function* comparedList(
  kind: LockKind,
  definitions: readonly string[],
  locked: Entries = NONE,
): Generator<void, ComparedList> {
  const { id } = LOCK_KINDS[kind];
  const once = new Set<string>();
  const twice = new Set<string>();
  const entries: Compared[] = [];
  for (const definition of definitions) {
    const entry = compareDefinition(kind, definition, locked);
    if (once.has(entry.name)) twice.add(entry.name);
    once.add(entry.name);
    entries.push(entry);
    yield;
  }
  return {
    entries:
      twice.size === 0 ? entries : entries.map((entry) => (twice.has(entry.name) ? asTwice(entry, id, locked) : entry)),
    removed: Object.keys(locked).filter((name) => !once.has(name)),
  };
}

const asTwice = ({ name, fields }: Compared, id: string, locked: Entries): Compared =>
  drifting(name, fields.includes(id) ? fields : [id, ...fields], entryOf(locked, name));

const drifting = (name: string, fields: readonly string[], entry: LockEntry | undefined): Compared => ({
  name,
  state: 'drift',
  fields,
  ...(entry === undefined ? {} : { locked: entry.digest }),
});

const entryOf = (locked: Entries, name: string): LockEntry | undefined =>
  Object.hasOwn(locked, name) ? locked[name] : undefined;

function compareDefinition(kind: LockKind, definition: string, locked: Entries): Compared {
  const { name = '', text, fields, problems } = readDefinition(kind, definition);
  const entry = entryOf(locked, name);
  if (text !== undefined) {
    if (entry === undefined) return { name, state: 'new', fields: [] };
    if (entry.digest === digestOf(text)) return { name, state: 'same', fields: [] };
  }
  const differs = (field: string): boolean => {
    if (problems.has(field)) return true;
    if (entry === undefined) return false;
    const now = fields.get(field);
    return entry.fields[field] !== (now === undefined ? undefined : digestOf(now));
  };
  const { id, fields: known } = LOCK_KINDS[kind];
  const different = known.filter(differs);
  if (problems.has(id)) different.unshift(id);
  return drifting(name, different.length === 0 ? ['digest'] : different, entry);
}

/** `json`: the upstream's own text, undefined where it has none. Of a server that the lock names, nothing was approved then. */
export function compareInstructions(json: string | undefined, lock: ServerLock | undefined): ComparedInstructions {
  const locked = lock?.instructions;
  if (json === undefined) return locked === undefined ? 'same' : 'removed';
  if (lock === undefined) return 'new';
  const now = canonical(json);
  return 'text' in now && digestOf(now.text) === locked ? 'same' : 'drift';
}
