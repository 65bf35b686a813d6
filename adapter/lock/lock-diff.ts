import { compare } from '../catalog/canonical-json.ts';
import { canonical } from './canonical.ts';
import { type Compared, type ComparedInstructions, compareServer } from './compare.ts';
import { digestOf } from './digest-of.ts';
import {
  LOCK_KINDS,
  type LockEntry,
  type LockKind,
  type ServerLock,
} from '../../crds/config/lock-file/lock-document.ts';
import { readDefinition } from './read-definition.ts';
import type { ServerLists } from './server-lists.ts';

/** One definition, or the instructions of a server, that is not what the lock says. Names are the upstream's words. */
export interface LockChange {
  readonly server: string;
  readonly kind: LockKind | 'instructions';
  /** '' without one. */
  readonly name: string;
  readonly state: 'changed' | 'new' | 'removed';
  readonly fields: readonly FieldChange[];
}

/** What differs of a field; of new ones all fields that are there. */
export interface FieldChange {
  readonly field: string;
  /** Digest in the lock. */
  readonly locked?: string;
  /** Digest of what the upstream says now. */
  readonly found?: string;
  /** RFC 8785 of what it says now: a lock does not know what it said before. */
  readonly now?: string;
  /** Why it can be no part of a lock. */
  readonly why?: string;
}

const TWICE = 'stands in the list more than once';

/** All that a server's lists have differently from the lock: what has changed, what is new and what is gone, by name. */
export function lockDiff(server: string, lists: ServerLists, lock: ServerLock | undefined): LockChange[] {
  const compared = compareServer(lists, lock);
  const ofKind = (kind: LockKind): LockChange[] => {
    const locked = lock?.[kind] ?? {};
    const { entries, removed } = compared[kind];
    const different = entries.map((entry, i) => ({ entry, definition: lists[kind][i] ?? '' })).filter(isDifferent);
    const changes = Map.groupBy(different, ({ entry }) => entry.name);
    return [
      ...Array.from(changes, ([name, [first, ...more]]): LockChange[] => {
        if (first === undefined) return [];
        const entry = Object.hasOwn(locked, name) ? locked[name] : undefined;
        const fields =
          more.length > 0 ? [{ field: LOCK_KINDS[kind].id, why: TWICE }] : changedFields(kind, first, entry);
        return [{ server, kind, name, state: first.entry.state === 'new' ? 'new' : 'changed', fields }];
      }).flat(),
      ...removed.map((name): LockChange => ({ server, kind, name, state: 'removed', fields: [] })),
    ].toSorted((a, b) => compare(a.name, b.name));
  };
  const instructions = changedInstructions(server, lists.instructions, compared.instructions, lock?.instructions);
  return [...instructions, ...ofKind('tools'), ...ofKind('prompts'), ...ofKind('resourceTemplates')];
}

interface Different {
  readonly entry: Compared;
  readonly definition: string;
}

const isDifferent = ({ entry }: Different): boolean => entry.state !== 'same';

function changedFields(kind: LockKind, { entry, definition }: Different, locked?: LockEntry): FieldChange[] {
  const { text, fields, problems } = readDefinition(kind, definition);
  const names = entry.state === 'new' ? LOCK_KINDS[kind].fields.filter((field) => fields.has(field)) : entry.fields;
  return names.map((field) => {
    const now = field === 'digest' ? text : fields.get(field);
    const before = field === 'digest' ? locked?.digest : locked?.fields[field];
    return { field, ...changeOf(before, now, problems.get(field)) };
  });
}

function changedInstructions(
  server: string,
  json: string | undefined,
  state: ComparedInstructions,
  locked: string | undefined,
): LockChange[] {
  if (state === 'same') return [];
  const now = json === undefined ? undefined : canonical(json);
  const text = now !== undefined && 'text' in now ? now.text : undefined;
  const field = {
    field: 'instructions',
    ...changeOf(locked, text, now !== undefined && 'why' in now ? now.why : undefined),
  };
  return [{ server, kind: 'instructions', name: '', state: state === 'drift' ? 'changed' : state, fields: [field] }];
}

const changeOf = (locked: string | undefined, now: string | undefined, why: string | undefined) => ({
  ...(locked === undefined ? {} : { locked }),
  ...(now === undefined ? {} : { found: digestOf(now), now }),
  ...(why === undefined ? {} : { why }),
});
