import { hash } from 'node:crypto';

import type { SessionRecord } from '../state/state-store.ts';

const LIST_METHODS = new Set(['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list']);
const MAX_ENTRIES = 200_000;
const MAX_TEXT_BYTES = 256 << 20;
/** Clients write cursors, and upstreams without pages take any. */
const MAX_CURSOR_CHARS = 1024;

interface Entry {
  readonly generation: number;
  readonly listsGeneration: number;
  readonly expiresAt: number;
  readonly text: SharedText;
}

interface SharedText {
  readonly hash: string;
  readonly text: string;
  users: number;
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
  readonly #maxBytes: number;
  /** In the order of insertion, so the first is the oldest. */
  readonly #entries = new Map<string, Entry>();
  readonly #texts = new Map<string, SharedText>();
  /** Of the texts, and of what the entries are called. */
  #bytes = 0;

  constructor(ttlMs: number, maxBytes = MAX_TEXT_BYTES) {
    this.#ttlMs = ttlMs;
    this.#maxBytes = maxBytes;
  }

  get enabled(): boolean {
    return this.#ttlMs > 0;
  }

  get(record: SessionRecord, key: string, now: number): string | undefined {
    const id = entryId(record, key);
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    const current = entry.generation === record.generation && entry.listsGeneration === record.listsGeneration;
    if (current && now < entry.expiresAt) return entry.text.text;
    this.#delete(id, entry);
    return undefined;
  }

  /**
   * Keeps a result. One that no session has yet is kept only if `isValid` says so; parsing it for every session would
   * cost more than all else that is done with it.
   * @returns false when it is not valid
   */
  set(record: SessionRecord, key: string, result: string, now: number, isValid: () => boolean): boolean {
    if (!this.enabled) return isValid();
    const hashed = hash('sha256', result, 'base64');
    if (!this.#texts.has(hashed) && !isValid()) return false;
    const id = entryId(record, key);
    const old = this.#entries.get(id);
    if (old !== undefined) this.#delete(id, old);
    const { generation, listsGeneration } = record;
    this.#entries.set(id, {
      generation,
      listsGeneration,
      expiresAt: now + this.#ttlMs,
      text: this.#share(result, hashed),
    });
    this.#bytes += id.length;
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= MAX_ENTRIES && this.#bytes <= this.#maxBytes && now < entry.expiresAt) break;
      this.#delete(oldest, entry);
    }
    return true;
  }

  #share(text: string, key: string): SharedText {
    let shared = this.#texts.get(key);
    if (shared === undefined) {
      shared = { hash: key, text, users: 0 };
      this.#texts.set(key, shared);
      this.#bytes += text.length;
    }
    shared.users++;
    return shared;
  }

  #delete(id: string, entry: Entry): void {
    this.#entries.delete(id);
    this.#bytes -= id.length;
    if (--entry.text.users > 0) return;
    this.#texts.delete(entry.text.hash);
    this.#bytes -= entry.text.text.length;
  }
}

function entryId(record: SessionRecord, key: string): string {
  return `${record.serverId}\n${record.sessionId}\n${key}`;
}
