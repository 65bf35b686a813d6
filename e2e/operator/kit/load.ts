import { setTimeout as delay } from 'node:timers/promises';
import { openRawClient, type RawClient } from '../../support/raw-client.ts';
import { within } from '../../adapter/kit/within.ts';

/** A call that was not answered with its result. */
export interface Failure {
  readonly time: string;
  readonly what: string;
  readonly error: string;
}

export interface Tally {
  /** Exchanges that went as they should. */
  readonly calls: number;
  readonly failures: readonly Failure[];
}

/**
 * Clients that call without a pause worth the name. They are what `fetch` of Node.js makes of them: connections are kept
 * and used again for as long as the server lets them, and nothing is tried twice. Every error that a caller of `fetch`
 * would see counts as a failure.
 */
export interface Load extends AsyncDisposable {
  tally(): Tally;
  /** Resolves when each session has had `count` more calls, or rejects after `timeoutMs`. */
  more(count: number, timeoutMs: number): Promise<void>;
}

export interface LoadOptions {
  /** Sessions that are opened now and used until the end. */
  readonly sessions: number;
  /** Between the answer and the next request of a session, in milliseconds. */
  readonly pauseMs: number;
}

const CALL_MS = 30_000;

export async function startLoad(url: string, { sessions: count, pauseMs }: LoadOptions): Promise<Load> {
  const failures: Failure[] = [];
  const stopping = new AbortController();
  let calls = 0;
  const sessions = await Promise.all(Array.from({ length: count }, () => openRawClient(url)));
  const rounds: number[] = sessions.map(() => 0);
  let changed = Promise.withResolvers<void>();

  async function repeat(what: string, call: () => Promise<void>, done: () => void): Promise<void> {
    while (!stopping.signal.aborted) {
      const began = new Date();
      try {
        await within(CALL_MS, 'an answer', call());
        calls += 1;
      } catch (error) {
        failures.push({ time: began.toISOString(), what, error: describe(error) });
      }
      done();
      changed.resolve();
      changed = Promise.withResolvers();
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  const running = [
    ...sessions.map((session, index) =>
      repeat(
        `call of session ${index}`,
        () => countWords(session),
        () => void (rounds[index] = (rounds[index] ?? 0) + 1),
      ),
    ),
    repeat(
      'new session',
      () => openAndClose(url),
      () => undefined,
    ),
  ];

  return {
    tally: () => ({ calls, failures: [...failures] }),
    async more(more, timeoutMs) {
      const goals = rounds.map((round) => round + more);
      const reached = async (): Promise<void> => {
        while (rounds.some((round, index) => round < (goals[index] ?? 0))) await changed.promise;
      };
      await within(timeoutMs, `${more} more calls of each session`, reached());
    },
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

async function countWords(session: RawClient): Promise<void> {
  const message = await session.callTool('word_count', { text: 'hello world' });
  if (!JSON.stringify(message.result ?? null).includes('"words":2')) throw new Error(JSON.stringify(message));
}

async function openAndClose(url: string): Promise<void> {
  const session = await openRawClient(url);
  await countWords(session);
  const ended = await session.delete();
  await ended.arrayBuffer();
  if (!ended.ok) throw new Error(`DELETE: ${ended.status}`);
}

/** With the causes: "fetch failed" alone says nothing. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? ` (${String(error.code)})` : '';
  return `${error.message}${code}${error.cause === undefined ? '' : `: ${describe(error.cause)}`}`;
}
