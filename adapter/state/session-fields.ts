import type { SQLOutputValue } from 'node:sqlite';
import type { SessionKey } from './session-key.ts';

/** What stores give back. */
type Stored = SQLOutputValue | undefined;

/** How the values of a field stand in a store: as texts, numbers and, where a field may be absent, null. */
interface FieldType<T> {
  write(value: T): string | number | null;
  read(stored: Stored): T;
}

const text: FieldType<string> = { write: (value) => value, read: (stored) => String(stored ?? '') };
const textOrNull: FieldType<string | null> = {
  write: (value) => value,
  read: (stored) => (stored === null || stored === undefined ? null : String(stored)),
};
const integer: FieldType<number> = { write: (value) => value, read: (stored) => Number(stored) };
const texts: FieldType<readonly string[]> = {
  write: (value) => JSON.stringify(value),
  read: (stored) => {
    const value: unknown = JSON.parse(String(stored ?? '[]'));
    return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
  },
};

/** Every field of a session's record but its key. Redis has it under this name, SQLite in a column `snake_case`. */
const SESSION_FIELDS = {
  /** Hash of the token that opened the session, '' when authentication is off. */
  principal: text,
  /**
   * The upstream's own session: its Mcp-Session-Id, or for an `sse` upstream the message endpoint's URL.
   * Null when the upstream gave none; '' when it was closed with the tombstone and must be initialised again.
   */
  upstreamSessionId: textOrNull,
  /** Raised by one with every re-initialisation of the upstream session. */
  generation: integer,
  /** The protocol revision that initialize agreed on. */
  protocolVersion: text,
  /** The client's initialize parameters as JSON text, replayed to a new upstream session. */
  initializeParams: text,
  /** Parameters of the last logging/setLevel as JSON text. */
  logLevel: textOrNull,
  /** Subscribed resource URIs, in the order of subscription. */
  subscriptions: texts,
  /** Raised by `dropLists`; a list cached under another number is stale. */
  listsGeneration: integer,
  /** The fingerprint of what `pin` pinned; null before. */
  baseline: textOrNull,
  createdAt: integer,
  lastActiveAt: integer,
};

type Fields = typeof SESSION_FIELDS;
type FieldName = keyof Fields;
type Values = { readonly [Name in FieldName]: ReturnType<Fields[Name]['read']> };

export type SessionRecord = SessionKey & Values;

export const FIELD_NAMES = Object.keys(SESSION_FIELDS) as FieldName[];
/** Those that stay, and `baseline`, which only `pin` sets. */
const FIXED: readonly FieldName[] = ['principal', 'initializeParams', 'baseline', 'createdAt'];
export const CHANGING_NAMES = FIELD_NAMES.filter((name) => !FIXED.includes(name));

/** The value of a field as stores keep it. */
export const storedValue = (record: SessionRecord, name: FieldName): string | number | null =>
  (SESSION_FIELDS[name] as FieldType<unknown>).write(record[name]);

/** The record of which `stored` gives the values as stores keep them. */
export function recordOf({ serverId, sessionId }: SessionKey, stored: (name: FieldName) => Stored): SessionRecord {
  const values: Partial<Record<FieldName, unknown>> = {};
  for (const name of FIELD_NAMES) values[name] = SESSION_FIELDS[name].read(stored(name));
  return { serverId, sessionId, ...(values as Values) };
}
