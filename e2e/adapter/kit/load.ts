import { setTimeout as delay } from 'node:timers/promises';
import { asObject } from '../../support/scripted-upstream/json-rpc.ts';
import { openSession, type Place, type Session } from './session.ts';
import { within } from './within.ts';

/** How one call ended for its client. */
export interface Outcome {
  readonly loop: number;
  /** 0 when there was no HTTP answer. */
  readonly status: number;
  readonly retryAfter: string | null;
  /** `code` of the error's data, `result` when there was none, or why there was no answer. */
  readonly code: string;
}

/** Calls of `echo` without a break, each loop with a session of its own and going to the places in turn. */
export interface Load {
  /** All so far, in the order in which they ended. */
  readonly outcomes: readonly Outcome[];
  readonly sessions: readonly Session[];
  /** Resolves when from now on every loop has had `count` calls that match. Rejects after `timeoutMs`. */
  everyLoop(count: number, matches: (outcome: Outcome) => boolean, timeoutMs: number): Promise<void>;
  stop(): Promise<void>;
}

/** A refused client waits a little; otherwise the load would be made of refusals. */
const PAUSE_AFTER_FAILURE_MS = 50;

export async function startLoad(loops: number, places: readonly Place[]): Promise<Load> {
  const outcomes: Outcome[] = [];
  const watchers = new Set<() => void>();
  const at = (turn: number): Place => places[turn % places.length] ?? { url: '' };
  const sessions = await Promise.all(Array.from({ length: loops }, (_, loop) => openSession(at(loop))));
  const stopping = new AbortController();

  async function run(session: Session, loop: number): Promise<void> {
    for (let turn = loop; !stopping.signal.aborted; turn += 1) {
      const outcome = { loop, ...(await call(session, at(turn), turn)) };
      outcomes.push(outcome);
      for (const watch of watchers) watch();
      if (outcome.status !== 200) await delay(PAUSE_AFTER_FAILURE_MS);
    }
  }
  const running = sessions.map(run);

  return {
    outcomes,
    sessions,
    async everyLoop(count, matches, timeoutMs) {
      const from = outcomes.length;
      const reached = Promise.withResolvers<void>();
      const watch = (): void => {
        const counts = sessions.map(
          (_, loop) => outcomes.slice(from).filter((one) => one.loop === loop && matches(one)).length,
        );
        if (Math.min(...counts) >= count) reached.resolve();
      };
      watchers.add(watch);
      try {
        await within(timeoutMs, `${count} such calls in every loop`, reached.promise);
      } catch (error) {
        throw new Error(`but: ${JSON.stringify(outcomes.slice(-2 * loops))}`, { cause: error });
      } finally {
        watchers.delete(watch);
      }
    },
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

async function call(session: Session, place: Place, n: number): Promise<Omit<Outcome, 'loop'>> {
  try {
    const response = await session.at(place).request('tools/call', { name: 'echo', arguments: { n } });
    const { result, error } = asObject(await response.json());
    const code = result === undefined ? String(asObject(asObject(error).data).code) : 'result';
    return { status: response.status, retryAfter: response.headers.get('retry-after'), code };
  } catch (error) {
    return { status: 0, retryAfter: null, code: String(error) };
  }
}
