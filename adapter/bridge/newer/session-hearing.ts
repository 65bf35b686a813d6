import type { Upstream } from '../../exchange/upstream.ts';
import { pause } from '../../../lib/pause.ts';
import type { CallSession } from './call-session.ts';
import { type EventStream, openEventStream } from './event-stream.ts';

/** A server that has the stream says so at once, as it has nothing to find out. Those that wait for something to say are few. */
const READY_MS = 250;
const RESUME_MS = 1_000;
const MAX_STREAMS = 100;
/** Of a stream that is not free: so many times the pause. */
const LONGEST_WAIT = 10;
/** A server may be replaced by one that has the stream. */
const REMEMBERED_MS = 600_000;
const NOT_ALLOWED = 405;
/** Servers that allow one stream of a session have another replica on it. */
const CONFLICT = 409;
const TOO_MANY = 429;

/** What a server says in a session beside its calls. */
export interface Hearing {
  /** Nothing is missed from now on, as far as that can be known. Never rejects. */
  readonly ready: Promise<void>;
  /** Nothing will be heard any more. */
  readonly isOver: boolean;
  pause(): void;
  resume(): void;
  stop(): void;
}

const NOTHING: Hearing = {
  ready: Promise.resolve(),
  isOver: true,
  pause() {},
  resume() {},
  stop() {},
};

/**
 * Listens in sessions of one call each. Servers ask there what they ask without saying for which call (`listRoots`,
 * `createMessage` and `elicitInput` of the SDKs, where no request is named), and while nobody listens it is lost, and the call
 * waits in vain.
 */
export class SessionHearings {
  readonly #upstream: Upstream;
  readonly #resumeMs: number;
  /** Since when the server has no such stream, or is slow to say that it has. */
  #absentSince = -Infinity;
  #slowSince = -Infinity;

  /** @param resumeMs how long a stream that ended is left alone */
  constructor(upstream: Upstream, resumeMs: number = RESUME_MS) {
    this.#upstream = upstream;
    this.#resumeMs = resumeMs;
  }

  /** @param onMessage takes JSON texts of messages */
  open(session: CallSession, onMessage: (text: string) => void): Hearing {
    if (performance.now() - this.#absentSince < REMEMBERED_MS) return NOTHING;
    const stopped = new AbortController();
    let stream: EventStream | undefined;
    let isPaused = false;
    let isOver = false;
    const openStream = (lastEventId?: string): EventStream => {
      stream = openEventStream(this.#upstream, session, onMessage, { lastEventId, isPaused });
      return stream;
    };
    const first = openStream();
    void this.#keep(first, openStream, stopped.signal).finally(() => {
      isOver = true;
    });
    return {
      ready: this.#ready(first),
      get isOver() {
        return isOver;
      },
      pause() {
        isPaused = true;
        stream?.pause();
      },
      resume() {
        isPaused = false;
        stream?.resume();
      },
      stop() {
        stopped.abort();
        stream?.abort();
      },
    };
  }

  async #ready({ begun }: EventStream): Promise<void> {
    if (performance.now() - this.#slowSince < REMEMBERED_MS) return;
    const enough = new AbortController();
    const isSlow = await Promise.race([begun.then(() => false), pause(READY_MS, enough.signal).then(() => true)]);
    enough.abort();
    if (isSlow) this.#slowSince = performance.now();
  }

  /** Opens the stream again when it ends before the call does, or was not free. */
  async #keep(
    first: EventStream,
    openStream: (lastEventId?: string) => EventStream,
    signal: AbortSignal,
  ): Promise<void> {
    let stream = first;
    let hasBegun = false;
    let refused = 0;
    let lastEventId: string | undefined;
    for (let streams = 1; streams < MAX_STREAMS;) {
      // oxlint-disable-next-line no-await-in-loop -- One stream comes after the other.
      const isBegun = await stream.begun;
      hasBegun ||= isBegun;
      const isTaken = stream.status === CONFLICT;
      if (!isBegun && !isTaken && !(hasBegun && isAway(stream.status))) {
        if (stream.status === NOT_ALLOWED) this.#absentSince = performance.now();
        return;
      }
      // oxlint-disable-next-line no-await-in-loop -- See above.
      lastEventId = (await stream.ended).lastEventId ?? lastEventId;
      // Another replica may have it for as long as it has calls.
      refused = isTaken ? refused + 1 : 0;
      if (!isTaken) streams += 1;
      // oxlint-disable-next-line no-await-in-loop -- See above.
      await pause(this.#resumeMs * Math.min(Math.max(refused, 1), LONGEST_WAIT), signal);
      if (signal.aborted) return;
      stream = openStream(lastEventId);
    }
  }
}

/** Nothing answers, or something in front of the server does. */
const isAway = (status: number): boolean => status === 0 || status === TOO_MANY || status >= 500;
