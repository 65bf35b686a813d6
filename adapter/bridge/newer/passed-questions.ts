import { randomUUID } from 'node:crypto';

import { type BusKey, CALL_LEASE_MS, type MessageBus } from '../../state/message-bus.ts';
import type { OwnSession } from './call-session.ts';

const RENEW_MS = CALL_LEASE_MS / 3;
/** A server that asks without end is not heard at other replicas. */
const MAX_PASSING = 32;

export type PassingBus = Pick<MessageBus, 'follow' | 'addCall' | 'removeCall' | 'calls' | 'append'>;

/** What this replica takes of the questions in one session that other replicas hear. */
export interface Taking {
  /** A call that takes them has begun. Resolves when others can know; never rejects: without the bus nothing is passed. */
  begin(): Promise<void>;
  /** There is none for now. */
  rest(): void;
  end(): void;
}

/**
 * Questions in sessions that callers keep, on their way to another replica: most servers have one stream of a session, which may
 * be at a replica that has no call in it.
 */
export class PassedQuestions {
  readonly #bus: PassingBus;
  /** This replica among all that take questions of a session. */
  readonly #carrier = `at:${randomUUID()}`;
  #passing = 0;

  constructor(bus: PassingBus) {
    this.#bus = bus;
  }

  /** True: the replica where the session's newest call began takes the question (JSON text). Never rejects. */
  async pass(session: OwnSession, text: string): Promise<boolean> {
    if (this.#passing >= MAX_PASSING) return false;
    this.#passing += 1;
    try {
      const key = keyOf(session);
      const calls = await this.#bus.calls(key);
      const there = calls.findLast(({ carrier }) => carrier !== this.#carrier);
      if (there === undefined) return false;
      return (await this.#bus.append(key, { carrier: there.carrier, message: text })) !== undefined;
    } catch {
      return false;
    } finally {
      this.#passing -= 1;
    }
  }

  /** @param onQuestion takes JSON texts */
  take(session: OwnSession, onQuestion: (text: string) => void): Taking {
    const bus = this.#bus;
    const key = keyOf(session);
    const carrier = this.#carrier;
    let startedAt = 0;
    let unfollow: (() => Promise<void>) | undefined;
    let renewal: NodeJS.Timeout | undefined;
    let done: Promise<void> = Promise.resolve();
    /** One after the other: what is removed must not come after what is added. */
    const next = (work: () => Promise<void>): Promise<void> => {
      done = done.then(work).catch(() => undefined);
      return done;
    };
    const rest = (): void => {
      clearInterval(renewal);
      void next(() => bus.removeCall(key, carrier));
    };
    const add = async (): Promise<void> => {
      unfollow ??= await bus.follow(key, carrier, null, ({ message }) => onQuestion(message));
      await bus.addCall(key, { carrier, progressToken: null, toolCall: true, startedAt });
    };
    return {
      begin() {
        startedAt = Date.now();
        clearInterval(renewal);
        renewal = setInterval(() => void next(add), RENEW_MS).unref();
        return next(add);
      },
      rest,
      end() {
        rest();
        void next(async () => unfollow?.());
      },
    };
  }
}

/** A log of its own: an upstream of HTTP+SSE has one of the session itself. */
const keyOf = ({ serverId, sessionId, generation }: OwnSession): BusKey => ({
  serverId,
  sessionId: `asked-${sessionId}`,
  generation,
});
