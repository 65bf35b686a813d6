import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { AdapterError } from '../errors.ts';
import type { SessionRecord, StateStore } from '../state/state-store.ts';
import { endUnused, handshake } from '../upstream/handshake.ts';
import { reason } from '../upstream/ping-loop.ts';
import type { Upstream } from '../exchange/upstream.ts';
import { whileLocked } from './store-lock.ts';

const HANDSHAKE_TIMEOUT_MS = 20_000;
const LOCK_MS = 60_000;
const POLL_MS = 20;
/** Each step of a handshake has a limit of its own. */
const NEVER = new AbortController().signal;

/**
 * Gives a session a new upstream session after the upstream has lost its own: one handshake, however many requests
 * of however many replicas find out at the same moment.
 */
export class UpstreamSessions {
  readonly #store: StateStore;
  readonly #owner = randomUUID();
  readonly #running = new Map<string, Promise<SessionRecord>>();

  constructor(store: StateStore) {
    this.#store = store;
  }

  /**
   * Returns the session with an upstream session newer than the one in `lost`. `headers` are those of the request
   * that needs it, without the protocol's. Throws an AdapterError when the upstream does not open one.
   */
  renew(upstream: Upstream, lost: SessionRecord, headers: readonly string[]): Promise<SessionRecord> {
    const name = `reinit:${lost.serverId}:${lost.sessionId}`;
    const id = `${name}:${lost.generation}`;
    let running = this.#running.get(id);
    if (running === undefined) {
      running = this.#renew(upstream, lost, headers, name).finally(() => this.#running.delete(id));
      this.#running.set(id, running);
    }
    return running;
  }

  async #renew(
    upstream: Upstream,
    lost: SessionRecord,
    headers: readonly string[],
    lock: string,
  ): Promise<SessionRecord> {
    const deadline = Date.now() + LOCK_MS;
    while (Date.now() < deadline) {
      const current = await this.#read(lost);
      if (current.generation > lost.generation) return current;
      const options = { name: lock, owner: this.#owner, ttlMs: LOCK_MS, signal: NEVER };
      const renewed = await whileLocked(this.#store, options, async () => {
        const latest = await this.#read(lost);
        return latest.generation > lost.generation ? latest : this.#open(upstream, latest, headers);
      });
      if (renewed !== undefined) return renewed;
      await delay(POLL_MS);
    }
    throw new AdapterError('upstream_timeout', 'The upstream session could not be opened again in time.');
  }

  async #open(upstream: Upstream, record: SessionRecord, headers: readonly string[]): Promise<SessionRecord> {
    const generation = record.generation + 1;
    const session = { ...record, upstreamSessionId: undefined, generation };
    let opened;
    try {
      opened = await handshake(upstream, session, headers, record, HANDSHAKE_TIMEOUT_MS);
    } catch (error) {
      throw new AdapterError('upstream_failed', `The upstream session could not be opened again: ${reason(error)}`, {
        cause: error,
      });
    }
    if (await this.#store.replaceUpstream(record, record.generation, opened))
      return { ...record, ...opened, generation };
    endUnused(upstream, { ...session, upstreamSessionId: opened.upstreamSessionId }, headers);
    const latest = await this.#read(record);
    if (latest.generation > record.generation) return latest; // another replica was faster
    throw new AdapterError('session_not_found');
  }

  async #read(record: SessionRecord): Promise<SessionRecord> {
    const found = await this.#store.find(record, { principal: record.principal, now: this.#store.now() });
    if (found.state !== 'active') throw new AdapterError('session_not_found');
    return found.record;
  }
}
