import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import type { ByteAccount } from '../../byte-account.ts';
import { sampleAccount } from '../../testing/sample-account.ts';
import { endWhole } from './end-whole.ts';
import { ReplyStream } from './reply-stream.ts';
import { whileLeaving } from './unread.ts';

/** More than the system keeps of what nobody reads. */
const LARGE = Buffer.alloc(32 << 20, 'x');
const NOBODY = { hold: () => undefined, unhold: () => undefined };

let server: Server;
let account: ByteAccount;
let replies: ServerResponse[];
const clients: Socket[] = [];

beforeEach(async () => {
  account = sampleAccount();
  replies = [];
  server = createServer((_request, response) => void replies.push(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const client of clients.splice(0)) client.destroy();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

/** A client that reads nothing. */
async function deaf(requests = 1): Promise<{ client: Socket; answers: ServerResponse[] }> {
  const before = replies.length;
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  clients.push(client);
  client.on('error', () => undefined);
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(requests));
  await vi.waitFor(() => expect(replies).toHaveLength(before + requests));
  return { client, answers: replies.slice(before) };
}

const holderOf = ({ socket, req }: ServerResponse) => account.of({ server: 's', connection: socket ?? req.socket });

function end(res: ServerResponse, body = LARGE): void {
  res.writeHead(200, { 'content-length': body.length });
  endWhole(res, [body], body.length, holderOf(res));
}

const unread = (): number | undefined => new Map(account.byKind()).get('unread');

describe('M2 T17: a whole answer', () => {
  test('is counted until its client has taken it, which keeps its connection', async () => {
    const { client, answers } = await deaf();
    const [res] = answers as [ServerResponse];
    const { socket } = res;
    end(res);
    expect(unread()).toBeGreaterThanOrEqual(LARGE.length);
    client.resume();
    await once(res, 'close');
    expect([res.writableFinished, socket?.destroyed, account.held]).toEqual([true, false, 0]);
  });

  test('that the system takes at once is not counted', async () => {
    const { answers } = await deaf();
    end(answers[0] as ServerResponse, Buffer.from('small'));
    expect(account.held).toBe(0);
  });

  test('ends when its client takes nothing of it for a while', async () => {
    const { answers } = await deaf();
    const [res] = answers as [ServerResponse];
    res.end(LARGE);
    whileLeaving(res, holderOf(res), undefined, 300);
    await once(res, 'close');
    expect([res.writableFinished, account.held]).toEqual([false, 0]);
  });

  test('that waits behind another of its connection is counted, and has its time when its turn has come', async () => {
    const { client, answers } = await deaf(2);
    const [first, second] = answers as [ServerResponse, ServerResponse];
    second.end(LARGE);
    whileLeaving(second, holderOf(second), undefined, 300);
    expect(unread()).toBeGreaterThanOrEqual(LARGE.length);
    end(first, Buffer.from('small'));
    await once(second, 'close');
    expect([first.writableFinished, second.writableFinished, account.held]).toEqual([true, false, 0]);
    client.destroy();
  });

  test('that nobody reads makes room for others, and one that is being read does not', async () => {
    let now = 1_000;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    account = sampleAccount({ total: LARGE.length + 1_000_000 });
    const { answers } = await deaf();
    const [res] = answers as [ServerResponse];
    end(res);
    const other = account.share('answers', { server: 't' });
    expect(other.take(2_000_000)).toBe(false);
    now += 2_000;
    expect(other.take(2_000_000)).toBe(true);
    await once(res, 'close');
    expect([res.writableFinished, account.held]).toEqual([false, 2_000_000]);
  });

  test('ends its connection where there is no room for what its client does not take', async () => {
    account = sampleAccount({ total: 1_000_000 });
    const { answers } = await deaf();
    end(answers[0] as ServerResponse);
    await once(answers[0] as ServerResponse, 'close');
    expect([answers[0]?.writableFinished, account.held]).toEqual([false, 0]);
  });
});

describe('M2 T17: a stream', () => {
  test('is counted while its client is slow, and not once it has taken all', async () => {
    const { client, answers } = await deaf();
    const [res] = answers as [ServerResponse];
    const stream = new ReplyStream(res, NOBODY, true, holderOf(res));
    stream.write('data: 1\n\n');
    expect(account.held).toBe(0);
    stream.write(LARGE);
    expect(unread()).toBeGreaterThanOrEqual(LARGE.length);
    const drained = once(res, 'drain');
    client.resume();
    await drained;
    expect([account.held, res.destroyed]).toEqual([0, false]);
  });

  test('ends when its client takes nothing for a while, and not when nothing is to be taken', async () => {
    const { answers } = await deaf();
    const [res] = answers as [ServerResponse];
    new ReplyStream(res, NOBODY, true, holderOf(res), 300).write(LARGE);
    await once(res, 'close');
    expect(account.held).toBe(0);

    const reading = await deaf();
    const [open] = reading.answers as [ServerResponse];
    const stream = new ReplyStream(open, NOBODY, true, holderOf(open), 300);
    const drained = once(open, 'drain');
    reading.client.resume();
    stream.write(LARGE);
    await drained;
    await once(open, 'timeout');
    expect(open.destroyed).toBe(false);
    // It is watched all the same.
    reading.client.pause();
    stream.write(LARGE);
    await once(open, 'close');
    expect(account.held).toBe(0);
  });
});
