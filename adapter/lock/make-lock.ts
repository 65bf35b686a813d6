import { compare } from '../catalog/canonical-json.ts';
import { canonical } from './canonical.ts';
import { digestOf } from './digest-of.ts';
import {
  LOCK_KINDS,
  type LockEntry,
  type LockKind,
  MAX_LOCKED,
  MAX_NAME_CHARS,
  type ServerLock,
} from '../../crds/config/lock-file/lock-document.ts';
import { type Definition, readDefinition } from './read-definition.ts';
import type { ServerLists } from './server-lists.ts';

/** What of a server cannot be locked. */
export interface Unlockable {
  readonly kind: LockKind | 'instructions';
  /** Words of the upstream; '' without one. */
  readonly name: string;
  /** A sentence without its subject and its full stop. */
  readonly why: string;
}

export interface MadeLock {
  readonly lock: ServerLock;
  /** These are missing in the lock. */
  readonly unlockable: readonly Unlockable[];
}

/** `__proto__` is no member of an object that is made in the usual way, and YAML merges what stands at `<<`. */
const UNUSABLE: ReadonlySet<string> = new Set(['__proto__', '<<', '']);

/** A server's part of a lock, its names in the order of their code units. */
export function makeLock(lists: ServerLists): MadeLock {
  const unlockable: Unlockable[] = [];
  const entriesOf = (kind: LockKind): Record<string, LockEntry> => {
    const made = madeEntries(kind, lists[kind]);
    unlockable.push(...made.unlockable);
    return made.entries;
  };
  const [tools, prompts, resourceTemplates] = (['tools', 'prompts', 'resourceTemplates'] as const).map(entriesOf);
  const instructions = lists.instructions === undefined ? undefined : canonical(lists.instructions);
  if (instructions !== undefined && 'why' in instructions) {
    unlockable.push({ kind: 'instructions', name: '', why: instructions.why });
  }
  const lock = {
    tools: tools ?? {},
    prompts: prompts ?? {},
    resourceTemplates: resourceTemplates ?? {},
    ...(instructions !== undefined && 'text' in instructions ? { instructions: digestOf(instructions.text) } : {}),
  };
  return { lock, unlockable };
}

function madeEntries(kind: LockKind, definitions: readonly string[]) {
  const unlockable: Unlockable[] = [];
  const entries: [name: string, entry: LockEntry][] = [];
  const byName = Map.groupBy(
    definitions.map((definition) => readDefinition(kind, definition)),
    ({ name = '' }) => name,
  );
  for (const [name, [definition, ...more]] of [...byName].toSorted(([a], [b]) => compare(a, b))) {
    if (definition === undefined) continue;
    const entry = entryOf(kind, definition);
    const why =
      more.length > 0
        ? `stands in the list ${more.length === 1 ? 'twice' : `${more.length + 1} times`}`
        : typeof entry === 'string'
          ? entry
          : entries.length >= MAX_LOCKED
            ? `is one too many: a lock has ${MAX_LOCKED}`
            : undefined;
    if (why !== undefined) unlockable.push({ kind, name, why });
    else if (typeof entry !== 'string') entries.push([name, entry]);
  }
  return { entries: Object.fromEntries(entries), unlockable };
}

/** The entry, or why there can be none. */
function entryOf(kind: LockKind, { name = '', text, fields, problems }: Definition): LockEntry | string {
  if (text === undefined) return Array.from(problems, ([field, why]) => `${field} ${why}`).join('; ');
  if (UNUSABLE.has(name)) return 'has a name that a lock cannot hold';
  if (name.length > MAX_NAME_CHARS) return `has a name of more than ${MAX_NAME_CHARS} characters`;
  const digests = LOCK_KINDS[kind].fields.flatMap((field) => {
    const now = fields.get(field);
    return now === undefined ? [] : [[field, digestOf(now)] as const];
  });
  return { digest: digestOf(text), fields: Object.fromEntries(digests) };
}
