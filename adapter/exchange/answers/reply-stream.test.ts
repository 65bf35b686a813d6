import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { ReplyStream } from './reply-stream.ts';
import { endIfStalled } from './unread.ts';

/** More than the system keeps of what nobody reads. */
const BYTES = 32 << 20;
const STALLED_MS = 700;

describe('an answer', () => {
  let server: Server;
  let client: Socket;
  let res: ServerResponse;

  beforeEach(async () => {
    server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
    client.on('error', () => undefined);
    client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    [, res] = (await once(server, 'request')) as [unknown, ServerResponse];
  });
  afterEach(async () => {
    client.destroy();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });

  const written = (): ReplyStream => {
    const stream = new ReplyStream(
      res,
      { hold: () => undefined, unhold: () => undefined },
      false,
      undefined,
      STALLED_MS,
    );
    stream.write(Buffer.alloc(BYTES));
    return stream;
  };
  /** Takes a little now and then, so that all of it takes several times as long as a client may be silent. */
  const takeSlowly = async (): Promise<void> => {
    for (let taken = 0; taken < BYTES;) {
      const chunk = client.read() as Buffer | null;
      taken += chunk?.length ?? 0;
      await new Promise((resolve) => setTimeout(resolve, 4));
    }
  };

  test('ends when its client takes nothing of it any more', async () => {
    await written().drained();
    expect(res.destroyed).toBe(true);
  });

  test('goes on as long as its client takes anything of it, and may be silent then', async () => {
    const stream = written();
    const began = performance.now();
    const drained = stream.drained();
    await takeSlowly();
    await drained;
    expect(performance.now() - began).toBeGreaterThan(2 * STALLED_MS);
    await new Promise((resolve) => setTimeout(resolve, 2 * STALLED_MS));
    expect(res.destroyed).toBe(false);
  });

  test('ends so too when all of it was written', async () => {
    endIfStalled(res, STALLED_MS);
    res.end(Buffer.alloc(BYTES));
    await once(res, 'close');
    expect(res.writableFinished).toBe(false);
  });

  test('that has left keeps its connection for the next one', async () => {
    const { socket } = res;
    endIfStalled(res, STALLED_MS);
    res.end('short');
    await once(res, 'close');
    await new Promise((resolve) => setTimeout(resolve, 2 * STALLED_MS));
    expect([res.writableFinished, socket?.destroyed]).toEqual([true, false]);
  });
});
