import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from 'vitest';

import { knownError } from '../../errors.ts';
import { KeepAlive } from '../../exchange/answers/keep-alive.ts';
import { RunningExchanges } from '../../exchange/running.ts';
import { FakeUpstream } from '../../exchange/testing/fake-upstream.ts';
import { type OpenReply, startReplyServer } from '../../exchange/testing/reply-server.ts';
import type { Outcome } from '../../path/ending.ts';
import type { Operation } from '../../path/operation.ts';
import type { HttpReply } from '../http-reply.ts';
import { type Changes, startReply } from './start-reply.ts';

export const RESULT = '{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890}}';
export const NOTIFICATION = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}';

/** A message as an event. */
export const frame = (data: string, id?: string): string =>
  `event: message\n${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`;

export const errorOf = (text: string): unknown => {
  const { error }: { error?: unknown } = JSON.parse(text);
  return error;
};

/** The messages of an event stream. */
export const messagesIn = (text: string): unknown[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)) as unknown);

/** Until all that could happen by itself has happened. */
export const settle = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
};

/** An operation whose client the test plays. */
export interface Started extends Omit<OpenReply, 'reply'> {
  readonly reply: HttpReply;
  readonly operation: Operation;
  readonly res: OpenReply['reply'];
}

export interface ReplyScene {
  upstream: FakeUpstream;
  running: RunningExchanges;
  outcomes: Outcome[];
  unexpected: unknown[];
  readonly keepAlive: KeepAlive;
  start(changes?: Changes): Promise<Started>;
}

/** Real clients before a fake upstream. An operation tells its end once, and nobody counts it any more then. */
export function replyScene({ operations = 1 } = {}): ReplyScene {
  let server: Awaited<ReturnType<typeof startReplyServer>>;
  const keepAlive = new KeepAlive(2 ** 30);
  const scene: ReplyScene = {
    upstream: new FakeUpstream(),
    running: new RunningExchanges(),
    outcomes: [],
    unexpected: [],
    keepAlive,
    async start(changes = {}) {
      const opened = await server.open();
      const started = startReply(scene.upstream, opened.reply, {
        keepAlive,
        running: scene.running,
        known: (error) => knownError(error, (one) => scene.unexpected.push(one)),
        ...changes,
        onFinish: (outcome, goesOn) => {
          scene.outcomes.push(outcome);
          return changes.onFinish?.(outcome, goesOn);
        },
      });
      return { ...opened, ...started, res: opened.reply };
    },
  };

  beforeAll(async () => {
    server = await startReplyServer();
  });
  afterAll(async () => {
    keepAlive.stop();
    await server.close();
  });
  beforeEach(() => {
    scene.upstream = new FakeUpstream();
    scene.running = new RunningExchanges();
    scene.outcomes = [];
    scene.unexpected = [];
  });
  afterEach(async () => {
    vi.useRealTimers();
    await settle();
    expect(scene.outcomes.length).toBeLessThanOrEqual(operations);
    if (scene.outcomes.length === operations) expect(scene.running.all()).toEqual([]);
  });
  return scene;
}
