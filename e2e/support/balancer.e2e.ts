import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { type Balancer, startBalancer } from './balancer.ts';
import { freePort } from './ports.ts';
import { type RawHandler, type RawUpstream, startRawUpstream } from './raw-upstream.ts';

describe('the balancer', { timeout: 15_000 }, () => {
  const opened: AsyncDisposable[] = [];
  afterEach(async () => {
    for (const resource of opened.splice(0).toReversed()) await resource[Symbol.asyncDispose]();
  });
  async function startTarget(handler: RawHandler): Promise<RawUpstream> {
    const target = await startRawUpstream(handler);
    opened.push(target);
    return target;
  }
  async function start(...targets: string[]): Promise<Balancer> {
    const balancer = await startBalancer(targets);
    opened.push(balancer);
    return balancer;
  }

  test('gives every request of one connection to the next target', async () => {
    const connections = new Set<unknown>();
    const a = await startTarget((_request, res) => void res.end('a'));
    const b = await startTarget((_request, res) => void res.end('b'));
    const balancer = await start(a.url, b.url);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const get = () =>
      new Promise<string>((resolve, reject) => {
        const outgoing = request(`${balancer.url}/x`, { agent }, (res) => {
          void text(res).then(resolve, reject);
        });
        outgoing.on('socket', (socket) => connections.add(socket)).on('error', reject);
        outgoing.end();
      });
    expect([await get(), await get(), await get(), await get()]).toEqual(['a', 'b', 'a', 'b']);
    agent.destroy();
    expect(connections.size).toBe(1);
    expect(balancer.requests.map(({ target, status }) => [target, status])).toEqual([
      [a.url, 200],
      [b.url, 200],
      [a.url, 200],
      [b.url, 200],
    ]);
    balancer.targets = [b.url];
    expect(await (await fetch(balancer.url)).text()).toBe('b');
  });

  test('passes method, path, body and headers on, also Host and repeated ones', async () => {
    const target = await startTarget((_request, res) => {
      res.writeHead(202, ['x-many', '1', 'x-many', '2']).end('ok');
    });
    const balancer = await start(target.url);
    const answer = await new Promise<string[]>((resolve, reject) => {
      const headers = { host: 'evil.example.com', 'x-probe': 'yes', 'content-length': 4 };
      const outgoing = request(`${balancer.url}/p?q=1`, { method: 'PUT', headers }, (res) => {
        res.resume();
        resolve([String(res.statusCode), ...res.rawHeaders]);
      });
      outgoing.on('error', reject).end('body');
    });
    expect(answer.slice(0, 5)).toEqual(['202', 'x-many', '1', 'x-many', '2']);
    expect(target.requests).toMatchObject([
      { method: 'PUT', path: '/p?q=1', text: 'body', headers: { host: 'evil.example.com', 'x-probe': 'yes' } },
    ]);
  });

  test('streams both ways without waiting for the end', async () => {
    const target = await startTarget((_request, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.flushHeaders();
    });
    const balancer = await start(target.url);
    const abort = new AbortController();
    const response = await fetch(balancer.url, { signal: abort.signal });
    expect(response.status).toBe(200);
    const { disconnected } = await target.waitForRequest(() => true);
    const gone = new Promise((resolve) => disconnected.addEventListener('abort', resolve, { once: true }));
    abort.abort();
    await gone;
  });

  test('tells the target that the client is gone, also before it has answered', async () => {
    const target = await startTarget(() => undefined);
    const balancer = await start(target.url);
    const abort = new AbortController();
    const response = fetch(balancer.url, { signal: abort.signal });
    const { disconnected } = await target.waitForRequest(() => true);
    const gone = new Promise((resolve) => disconnected.addEventListener('abort', resolve, { once: true }));
    abort.abort();
    await expect(response).rejects.toThrow('aborted');
    await gone;
  });

  test('breaks off when the target does', async () => {
    const target = await startTarget((_request, res) => {
      res.write('half', () => res.destroy());
    });
    const balancer = await start(target.url);
    await expect(fetch(balancer.url).then((response) => response.text())).rejects.toThrow('terminated');
  });

  test('answers 502 for a target that is not there, and does not try another', async () => {
    const target = await startTarget((_request, res) => void res.end('here'));
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    const balancer = await start(nowhere, target.url);
    expect((await fetch(balancer.url)).status).toBe(502);
    expect(target.requests).toHaveLength(0);
    expect(await (await fetch(balancer.url)).text()).toBe('here');
    expect(balancer.requests.map(({ status }) => status)).toEqual([502, 200]);
  });
});
