import { hash } from 'node:crypto';

import { rememberLast } from '../../lib/memory/remember-last.ts';
import type { Cache, Caches } from '../caches.ts';
import type { SessionRecord } from '../state/state-store.ts';

const LIST_METHODS = new Set(['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list']);
/** Clients write cursors, and upstreams without pages take any. */
const MAX_CURSOR_CHARS = 1024;
const SHARED_CHARS = 16 << 10;

/** A result that leaves again and again. */
export class KeptList {
  readonly text: string;
  #bytes: Buffer | undefined;

  constructor(text: string) {
    this.text = text;
  }

  /** All who get it share these. Undefined where it is so small that a copy for each costs less. */
  get bytes(): Buffer | undefined {
    return this.text.length < SHARED_CHARS ? undefined : (this.#bytes ??= Buffer.from(this.text));
  }

  get size(): number {
    return this.text.length < SHARED_CHARS ? this.text.length : 2 * this.text.length;
  }
}

interface Entry {
  readonly generation: number;
  readonly listsGeneration: number;
  readonly expiresAt: number;
  /** Its hash. */
  readonly text: string;
}

/**
 * What a list request is cached under, undefined when it must not be: its parameters beside the cursor are unknown, or
 * the cursor is long.
 */
export function listKey(method: string, params: Readonly<Record<string, unknown>>): string | undefined {
  if (!LIST_METHODS.has(method)) return undefined;
  for (const name in params) if (name !== 'cursor' && name !== '_meta') return undefined;
  const { cursor } = params;
  if (cursor === undefined) return method;
  if (typeof cursor !== 'string' || cursor.length > MAX_CURSOR_CHARS) return undefined;
  return `${method}\n${cursor}`;
}

/**
 * Results of list calls per session (`core.upstream_metadata_cache_ttl_seconds`). Equal results of many sessions are
 * kept once. An entry counts only for the generations that the session's record had when it was read, so a
 * list_changed or a new upstream session seen by any replica makes it stale on all.
 */
export class ListCache {
  readonly #ttlMs: number;
  readonly #entries: Cache<Entry>;
  readonly #lists: Cache<KeptList>;
  readonly #hash = rememberLast((text) => hash('sha256', text, 'base64'));

  constructor(ttlMs: number, caches: Caches) {
    this.#ttlMs = ttlMs;
    this.#entries = caches.region(({ text }) => text.length);
    this.#lists = caches.region(({ size }) => size);
  }

  get enabled(): boolean {
    return this.#ttlMs > 0;
  }

  get(record: SessionRecord, key: string, now: number): KeptList | undefined {
    const id = entryId(record, key);
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    const current = entry.generation === record.generation && entry.listsGeneration === record.listsGeneration;
    if (current && now < entry.expiresAt) return this.#lists.get(entry.text);
    this.#entries.delete(id);
    return undefined;
  }

  /**
   * Keeps a result. One that no session has yet is kept only if `isValid` says so; parsing it for every session would
   * cost more than all else that is done with it.
   * @returns false when it is not valid
   */
  set(record: SessionRecord, key: string, result: string, now: number, isValid: () => boolean): boolean {
    if (!this.enabled) return isValid();
    const hashed = this.#hash(result);
    if (this.#lists.get(hashed) === undefined) {
      if (!isValid()) return false;
      this.#lists.set(hashed, new KeptList(result));
    }
    const { generation, listsGeneration } = record;
    const expiresAt = now + this.#ttlMs;
    this.#entries.set(entryId(record, key), { generation, listsGeneration, expiresAt, text: hashed });
    return true;
  }
}

function entryId(record: SessionRecord, key: string): string {
  return `${record.serverId}\n${record.sessionId}\n${key}`;
}
