import { setTimeout as delay } from 'node:timers/promises';

import type { SessionRecord, StateStore } from '../state/state-store.ts';

export interface CleanupSettings {
  /** Null: sessions never expire by idling. */
  readonly idleTtlMs: number | null;
  readonly allowRevival: boolean;
  readonly tombstoneTtlMs: number;
  /** How long a workspace of a sessionless client is kept that holds no file, whatever the idle time is. */
  readonly workspaceTtlMs: number;
}

/** The sessions that a pass has taken: this replica alone has to do what follows from it. */
export interface TakenSessions {
  readonly expired: SessionRecord[];
  readonly purged: SessionRecord[];
  /** Workspaces that were empty for too long. They have no files; some have an upstream's session. */
  readonly workspaces: SessionRecord[];
}

const BATCH = 200;
const AT_A_TIME = 50;
const MAX_BACKOFF_MS = 30_000;

/**
 * One pass: idle sessions to tombstones (or away), then empty workspaces and expired tombstones away (specification,
 * section 3.1). `taken` has them also when the store fails in the middle.
 */
export async function cleanUp(
  store: StateStore,
  settings: CleanupSettings,
  now: number,
  taken: TakenSessions,
): Promise<void> {
  const { idleTtlMs, allowRevival, tombstoneTtlMs, workspaceTtlMs } = settings;
  if (idleTtlMs !== null) {
    const idleBefore = now - idleTtlMs;
    const tombstoneUntil = allowRevival ? now + tombstoneTtlMs : null;
    await inBatches(taken.expired, (limit) => store.expireIdle({ now, idleBefore, tombstoneUntil, limit }));
  }
  const emptySince = now - workspaceTtlMs;
  await inBatches(taken.workspaces, (limit) => store.expireWorkspaces({ now, idleBefore: emptySince, limit }));
  await inBatches(taken.purged, (limit) => store.expireTombstones({ now, limit }));
}

async function inBatches(taken: SessionRecord[], take: (limit: number) => Promise<SessionRecord[]>): Promise<void> {
  for (;;) {
    const batch = await take(BATCH);
    taken.push(...batch);
    if (batch.length < BATCH) break;
  }
}

/**
 * Ends the upstream's sessions of those that have expired, some at a time: an upstream that does not answer must hold
 * up neither the next pass nor, once `signal` says so, the exit. What fails expires upstream by itself.
 */
export async function endExpired(
  expired: readonly SessionRecord[],
  end: (record: SessionRecord) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for (let i = 0; i < expired.length && !signal.aborted; i += AT_A_TIME) {
    await Promise.allSettled(expired.slice(i, i + AT_A_TIME).map(end));
  }
}

/** Runs the pass every interval; after a failure sooner, with a growing pause. It never ends by itself. */
export class SweepLoop {
  readonly #stopping = new AbortController();
  readonly #done: Promise<void>;

  constructor(pass: (signal: AbortSignal) => Promise<void>, intervalMs: number, onError: (error: unknown) => void) {
    this.#done = this.#run(pass, intervalMs, onError);
  }

  async #run(
    pass: (signal: AbortSignal) => Promise<void>,
    intervalMs: number,
    onError: (error: unknown) => void,
  ): Promise<void> {
    const { signal } = this.#stopping;
    let failures = 0;
    while (!signal.aborted) {
      const pause = failures === 0 ? intervalMs : Math.min(intervalMs, 1000 * 2 ** failures, MAX_BACKOFF_MS);
      try {
        await delay(pause, undefined, { signal, ref: false });
      } catch {
        return;
      }
      try {
        await pass(signal);
        failures = 0;
      } catch (error) {
        failures++;
        onError(error);
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#done;
  }
}
