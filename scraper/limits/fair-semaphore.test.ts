import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ClientTls } from '../../crds/config/scraper-file/tls.ts';
import { MemoryBudget } from './memory-budget.ts';
import { FairSemaphore } from './fair-semaphore.ts';
import { limited } from '../requests/limited-client.ts';
import type { HttpAnswer, HttpClient, HttpRequest } from '../requests/http-client.ts';
import { json, TestServer } from '../requests/testing/test-server.ts';
import { UndiciClient } from '../requests/undici-client.ts';

const never = new AbortController().signal;

/** FairSemaphore whose clock stands still, and who has come in. */
function kit(size: number, hosts = ['a', 'b']) {
  const clock = { now: 0 };
  const permits = new FairSemaphore(size, () => clock.now);
  permits.setSources(hosts.map((host) => ({ source: host, host })));
  const entered: string[] = [];
  const releases = new Map<string, () => void>();
  const all: Promise<void>[] = [];
  return {
    clock,
    permits,
    entered,
    ask: (source: string, host = 'a', signal = never): Promise<void> => {
      const asked = permits.take({ source, host }, signal).then((release) => {
        releases.set(source, release);
        entered.push(source);
      });
      all.push(asked.catch(() => undefined));
      return asked;
    },
    leave: async (source: string): Promise<void> => {
      releases.get(source)?.();
      await setImmediate();
    },
  };
}

describe('places', () => {
  test('M4 T17: one host has at most half of them, those of others come at once', async () => {
    const { entered, ask, leave } = kit(4);
    for (const name of ['a1', 'a2', 'a3']) void ask(name);
    for (const name of ['b1', 'b2', 'b3']) void ask(name, 'b');
    await setImmediate();
    expect(entered).toEqual(['a1', 'a2', 'b1', 'b2']);
    await leave('b1');
    expect(entered.slice(4)).toEqual(['b3']);
    await leave('a1');
    expect(entered.slice(5)).toEqual(['a3']);
  });

  test.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [10, 5],
  ])('of %i are at most %i one host’s', async (size, most) => {
    const { entered, ask } = kit(size);
    for (let count = 0; count < 12; count += 1) void ask(`a${count}`);
    await setImmediate();
    expect(entered).toHaveLength(most);
  });

  test('are all the only host’s, until there is another', async () => {
    const { entered, ask, leave, permits } = kit(2, ['a', 'a']);
    for (const name of ['a1', 'a2', 'a3']) void ask(name);
    await setImmediate();
    expect(entered).toEqual(['a1', 'a2']);
    permits.setSources(['a', 'b'].map((host) => ({ source: host, host })));
    await leave('a1');
    expect(entered).toHaveLength(2);
    await leave('a2');
    expect(entered).toEqual(['a1', 'a2', 'a3']);
  });

  test('M4 T17: the next is the source that had the least of them lately, whoever came first', async () => {
    const { clock, entered, ask, leave } = kit(2);
    for (const name of ['slow', 'slow', 'slow', 'quick', 'new']) void ask(name);
    await setImmediate();
    clock.now += 10_000;
    await leave('slow');
    expect(entered).toEqual(['slow', 'quick']);
    clock.now += 100;
    await leave('quick');
    void ask('quick');
    expect(entered).toEqual(['slow', 'quick', 'new']);
    clock.now += 100;
    await leave('new');
    clock.now += 100;
    await leave('quick');
    expect(entered).toEqual(['slow', 'quick', 'new', 'quick', 'slow']);
  });

  test('what a source had counts less as time passes', async () => {
    const { clock, entered, ask, leave } = kit(2);
    void ask('one');
    await setImmediate();
    clock.now += 10_000;
    await leave('one');
    clock.now += 600_000;
    void ask('other');
    await setImmediate();
    clock.now += 500;
    void ask('other');
    void ask('one');
    await leave('other');
    expect(entered.at(-1)).toBe('one');
  });

  test('who gives up waiting takes none, and one that is given back twice is one', async () => {
    const { entered, ask, leave } = kit(2);
    const impatient = new AbortController();
    void ask('a1');
    const waiting = ask('a2', 'a', impatient.signal);
    void ask('a3');
    impatient.abort(new Error('too long'));
    await expect(waiting).rejects.toThrow('too long');
    await leave('a1');
    await leave('a1');
    void ask('a4');
    await setImmediate();
    expect(entered).toEqual(['a1', 'a3']);
    await expect(ask('late', 'a', AbortSignal.abort(new Error('late')))).rejects.toThrow('late');
  });
});

describe('a limited client', () => {
  const asking = { source: 's', host: 'a' };
  const answer: HttpAnswer = { status: 200, headers: {}, text: '', bytes: 0 };

  test('gives its place back after a failure as well', async () => {
    let [now, most] = [0, 0];
    const failing: HttpClient = {
      async send() {
        now += 1;
        most = Math.max(most, now);
        await setImmediate();
        now -= 1;
        throw new Error('no');
      },
    };
    const client = limited(failing, new FairSemaphore(6, () => 0), asking);
    const requests = Array.from({ length: 10 }, () => client.send({} as HttpRequest, never));
    const results = await Promise.allSettled(requests);
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    expect(most).toBe(3);
  });

  test('M4 T17: has no place while it waits for memory, so that others can give theirs back', async () => {
    const permits = new FairSemaphore(1, () => 0);
    const budget = new MemoryBudget(100);
    const [holding, wanting] = [budget.share(), budget.share()];
    await holding.take(80, never);
    const taking: HttpClient = {
      async send({ memory }, signal) {
        await memory?.take(50, signal);
        return answer;
      },
    };
    const waits = limited(taking, permits, asking).send({ memory: wanting } as unknown as HttpRequest, never);
    await setImmediate();
    const other = await permits.take({ source: 'other', host: 'b' }, never);
    holding[Symbol.dispose]();
    await setImmediate();
    expect(wanting.held).toBe(50);
    let isDone = false;
    void waits.then(() => (isDone = true));
    await setImmediate();
    // It goes on with a permit only.
    expect(isDone).toBe(false);
    other();
    expect(await waits).toBe(answer);
  });
});

describe('M4 T17: 12 sources whose API drips', () => {
  const servers: TestServer[] = [];
  let client: UndiciClient;
  const dripping = async (): Promise<TestServer> => {
    const server = await TestServer.start(({ target }, response) => {
      if (target.startsWith('/good')) return json([])({} as never, response);
      response.writeHead(200).write('[');
      const timer = setInterval(() => response.write(' '), 20);
      response.once('close', () => clearInterval(timer));
    });
    servers.push(server);
    return server;
  };
  beforeEach(() => {
    client = new UndiciClient({ proxies: {}, userAgent: 'test', slowMs: 500 });
  });
  afterEach(async () => {
    await client.close();
    for (const server of servers.splice(0)) await server.close();
  });
  const tls = ClientTls.parse({});
  const shared = { method: 'GET', headers: {}, timeoutMs: 60_000, maxBytes: 1e6, tls } as const;

  test('keep none of another host waiting, and one of the same host no longer than one of them lasts', async () => {
    const [slow, other] = [await dripping(), await dripping()];
    const permits = new FairSemaphore(10, () => performance.now());
    permits.setSources([slow, other].map(({ url }) => ({ source: url, host: url })));
    const ask = (source: string, { url }: TestServer, rate?: number) =>
      limited(client, permits, { source, host: url }).send(
        { ...shared, url: `${url}/${source}`, ...(rate === undefined ? {} : { minBytesPerSecond: rate }) },
        never,
      );
    const drips = (): Promise<unknown>[] =>
      Array.from({ length: 12 }, (_, count) => ask(`drip-${count}`, slow, 1024).catch((error: unknown) => error));
    const first = drips();
    expect(await ask('good-elsewhere', other)).toMatchObject({ status: 200 });
    expect(slow.requests.length).toBeLessThan(12);
    for (const failure of await Promise.all(first)) {
      expect(failure).toMatchObject({
        kind: 'slow',
        message: expect.stringContaining('less than 1024 bytes a second'),
      });
    }
    const second = drips();
    expect(await ask('good', slow)).toMatchObject({ status: 200 });
    expect(slow.targets.indexOf('/good')).toBe(12 + 5);
    await Promise.all(second);
  });
});
