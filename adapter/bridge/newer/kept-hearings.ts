import { REQUEST_LIMITS } from '../../../lib/json/json-limits.ts';
import { parseBody } from '../../exchange/message.ts';
import type { Upstream } from '../../exchange/upstream.ts';
import type { CallSession } from './call-session.ts';
import type { PassedQuestions, Taking } from './passed-questions.ts';
import type { Hearing, SessionHearings } from './session-hearing.ts';
import { OwnAnswers } from './own-answers.ts';

/** So long a stream outlives its last call: callers that call one tool after the other open it once. */
const LINGER_MS = 5_000;

interface Kept {
  hearing: Hearing;
  readonly answers: OwnAnswers;
  /** Questions that other replicas hear. */
  readonly taking: Taking | undefined;
  /** Of the calls under way, the newest last. */
  readonly calls: Set<Listener>;
  linger: NodeJS.Timeout | undefined;
  isPaused: boolean;
}

type Heard = Pick<Kept, 'calls' | 'answers'>;

interface Listener {
  readonly onMessage: (text: string) => void;
  isPaused: boolean;
}

/**
 * Listens in sessions that callers keep, once for all calls of a session at this replica. What the server asks or logs there goes
 * to the newest call, as its client is that of all, and a question to that of another replica where none is here; where several
 * clients share the session it is nobody's, and refused. Progress goes to all calls, which know their own.
 */
export class KeptHearings {
  readonly #upstream: Upstream;
  readonly #hearings: SessionHearings;
  readonly #passed: PassedQuestions | undefined;
  readonly #kept = new Map<string, Kept>();

  /** @param passed undefined: sessions are of many clients */
  constructor(upstream: Upstream, hearings: SessionHearings, passed: PassedQuestions | undefined) {
    this.#upstream = upstream;
    this.#hearings = hearings;
    this.#passed = passed;
  }

  /** @param onMessage takes JSON texts of messages, not all of which are of this call */
  open(session: CallSession, onMessage: (text: string) => void): Hearing {
    const { sessionId, generation } = session.session;
    const key = `${generation} ${sessionId}`;
    const kept = this.#kept.get(key) ?? this.#begin(key, session);
    if (kept.hearing.isOver) kept.hearing = this.#hear(session, kept);
    const listener = { onMessage, isPaused: false };
    kept.calls.add(listener);
    clearTimeout(kept.linger);
    return {
      ready: Promise.all([kept.hearing.ready, kept.taking?.begin()]).then(() => undefined),
      get isOver() {
        return kept.hearing.isOver;
      },
      pause: () => {
        listener.isPaused = true;
        this.#pauseOrResume(kept);
      },
      resume: () => {
        listener.isPaused = false;
        this.#pauseOrResume(kept);
      },
      stop: () => {
        if (!kept.calls.delete(listener) || this.#kept.get(key) !== kept) return;
        this.#pauseOrResume(kept);
        if (kept.calls.size > 0) return;
        kept.taking?.rest();
        kept.linger = setTimeout(() => this.#end(key), LINGER_MS);
      },
    };
  }

  close(): void {
    for (const key of this.#kept.keys()) this.#end(key);
  }

  #begin(key: string, session: CallSession): Kept {
    const calls = new Set<Listener>();
    const answers = new OwnAnswers(this.#upstream);
    const heard = { calls, answers };
    const taking = this.#passed?.take(session.session, (text) => this.#heard(session, text, heard, true));
    const hearing = this.#hear(session, { ...heard, isPaused: false });
    const kept = { hearing, taking, answers, calls, linger: undefined, isPaused: false };
    this.#kept.set(key, kept);
    return kept;
  }

  #hear(session: CallSession, kept: Heard & Pick<Kept, 'isPaused'>): Hearing {
    const hearing = this.#hearings.open(session, (text) => this.#heard(session, text, kept));
    if (kept.isPaused) hearing.pause();
    return hearing;
  }

  #end(key: string): void {
    const kept = this.#kept.get(key);
    this.#kept.delete(key);
    clearTimeout(kept?.linger);
    kept?.hearing.stop();
    kept?.taking?.end();
  }

  #heard(session: CallSession, text: string, { calls, answers }: Heard, isPassed = false): void {
    const body = parseBody(Buffer.from(text), REQUEST_LIMITS);
    if ('code' in body || body.batch) return;
    const [message] = body.messages;
    const newest = this.#passed === undefined ? undefined : [...calls].at(-1);
    if (message?.kind === 'request') {
      const passed = isPassed || message.method === 'ping' ? undefined : this.#passed;
      if (newest !== undefined) newest.onMessage(text);
      else if (passed === undefined) answers.unclaimed(session, message);
      else {
        void passed.pass(session.session, text).then((isTaken) => {
          if (!isTaken) answers.unclaimed(session, message);
        });
      }
    } else if (message?.kind === 'notification' && message.method === 'notifications/progress') {
      for (const call of calls) if (!call.isPaused) call.onMessage(text);
    } else if (message?.kind === 'notification' && message.method === 'notifications/message') newest?.onMessage(text);
  }

  /**
   * One call whose client does not read holds all of a caller: what it cannot take must not pile up. Nobody holds what others
   * share.
   */
  #pauseOrResume(kept: Kept): void {
    const isPaused = this.#passed !== undefined && [...kept.calls].some((call) => call.isPaused);
    if (isPaused === kept.isPaused) return;
    kept.isPaused = isPaused;
    if (isPaused) kept.hearing.pause();
    else kept.hearing.resume();
  }
}
