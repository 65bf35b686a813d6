import type { Key } from '../runtime/reconciler.ts';
import type { Handshake, HandshakeTarget, ShakeHands } from './handshake.ts';

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
 * Remembers what came of handshakes, so that each adapter is greeted once for what it runs (its `subject`), and again
 * only as long as that fails.
 */
export class Greeter {
  readonly #shakeHands: ShakeHands;
  readonly #now: () => number;
  readonly #known = new Map<string, Known>();

  constructor(options: {
    shakeHands: ShakeHands;
    /** Milliseconds of a clock that only goes forward. */ now?: () => number;
  }) {
    this.#shakeHands = options.shakeHands;
    this.#now = options.now ?? (() => performance.now());
  }

  /** What is known, without asking. */
  known(key: Key, subject: string): Handshake | undefined {
    const known = this.#known.get(textOf(key));
    return known?.subject === subject ? this.#told(known) : undefined;
  }

  /** Takes over what the status says from a time before this process. */
  assume(key: Key, subject: string): void {
    if (this.known(key, subject) === undefined) this.#remember(key, subject, { ok: true });
  }

  async greet(key: Key, subject: string, target: HandshakeTarget, signal: AbortSignal): Promise<Handshake> {
    const known = this.#known.get(textOf(key));
    if (known?.subject === subject && (known.result.ok || this.#now() - known.at < RETRY_MS)) return this.#told(known);
    return this.#told(this.#remember(key, subject, await this.#shakeHands(target, signal)));
  }

  forget(key: Key): void {
    this.#known.delete(textOf(key));
  }

  #remember(key: Key, subject: string, result: Handshake): Known {
    const at = this.#now();
    const before = this.#known.get(textOf(key));
    const known = { subject, result, at, since: before?.subject === subject ? before.since : at };
    this.#known.set(textOf(key), known);
    return known;
  }

  #told({ result, since }: Known): Handshake {
    return result.ok ? result : { ...result, failingForMs: this.#now() - since };
  }
}

const textOf = ({ namespace, name }: Key): string => `${namespace}/${name}`;
