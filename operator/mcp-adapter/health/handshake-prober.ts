import type { ProbePool } from '../../controllers/probe-pool.ts';
import { type Key, keyText } from '../../kubernetes/key.ts';
import type { Handshake, HandshakeTarget, ProbeHandshake } from './handshake.ts';

interface Known {
  readonly subject: string;
  readonly result: Handshake;
  readonly at: number;
  /** The first attempt with this subject. */
  readonly since: number;
}

/** Pause between two attempts, in milliseconds; events come faster than that. */
const RETRY_MS = 1_500;

/**
 * Remembers what came of handshakes, so that each adapter is probed once for what it runs (its `subject`), and again
 * only as long as that fails. It probes beside the queue: what came of it is told by `onNews`.
 */
export class HandshakeProber {
  readonly #probeHandshake: ProbeHandshake;
  readonly #probePool: ProbePool;
  readonly #onNews: (key: Key) => void;
  readonly #now: () => number;
  readonly #known = new Map<string, Known>();
  /** What each adapter is to be probed for. */
  readonly #wanted = new Map<string, string>();

  constructor(options: {
    probeHandshake: ProbeHandshake;
    probePool: ProbePool;
    onNews: (key: Key) => void;
    /** Milliseconds of a clock that only goes forward. */
    now?: () => number;
  }) {
    this.#probeHandshake = options.probeHandshake;
    this.#probePool = options.probePool;
    this.#onNews = options.onNews;
    this.#now = options.now ?? (() => performance.now());
  }

  /** What is known, without asking. */
  known(key: Key, subject: string): Handshake | undefined {
    const known = this.#known.get(keyText(key));
    return known?.subject === subject ? this.#resultOf(known) : undefined;
  }

  /** Takes over what the status says from a time before this process. */
  assume(key: Key, subject: string): void {
    if (this.known(key, subject) === undefined) this.#remember(key, subject, { ok: true });
  }

  /** What is known; probes where that is nothing, or a failure of a while ago. */
  probe(key: Key, subject: string, target: HandshakeTarget): Handshake | 'underway' {
    const id = keyText(key);
    const last = this.#known.get(id);
    const known = last?.subject === subject ? last : undefined;
    this.#wanted.set(id, subject);
    if (known === undefined || (!known.result.ok && this.#now() - known.at >= RETRY_MS)) {
      const lane = last === undefined || last.result.ok ? 'prompt' : 'slow';
      this.#probePool.start(`handshake with ${id}`, lane, (signal) => this.#probe(key, subject, target, signal));
    }
    return known === undefined ? 'underway' : this.#resultOf(known);
  }

  forget(key: Key): void {
    this.#known.delete(keyText(key));
    this.#wanted.delete(keyText(key));
  }

  async #probe(key: Key, subject: string, target: HandshakeTarget, signal: AbortSignal): Promise<void> {
    const result = await this.#probeHandshake(target, signal);
    const wanted = this.#wanted.get(keyText(key));
    if (wanted === undefined) return;
    const before = this.known(key, subject);
    if (wanted === subject) this.#remember(key, subject, result);
    if (wanted !== subject || !isSame(before, result)) this.#onNews(key);
  }

  #remember(key: Key, subject: string, result: Handshake): void {
    const at = this.#now();
    const before = this.#known.get(keyText(key));
    const since = before?.subject === subject ? before.since : at;
    this.#known.set(keyText(key), { subject, result, at, since });
  }

  #resultOf({ result, since }: Known): Handshake {
    return result.ok ? result : { ...result, failingForMs: this.#now() - since };
  }
}

function isSame(before: Handshake | undefined, after: Handshake): boolean {
  if (before === undefined || before.ok !== after.ok) return false;
  return before.ok || after.ok || before.message === after.message;
}
