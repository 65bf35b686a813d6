import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../runtime/kubernetes.ts';
import { bodyText } from './http-body.ts';
import { PodHealthClient, askable, parseHealth } from './pod-health.ts';
import { podWith } from './testing/observed.ts';

const forever = new AbortController().signal;
const health = { status: 'ok', servers: [{ server_id: 'a', mount_path: '/a', status: 'ok' }] };

let client: PodHealthClient;
let server: Server;
let answer: (response: ServerResponse) => void;
let atOnce: number;
let most: number;

beforeEach(async () => {
  client = new PodHealthClient();
  answer = (response) => response.end(JSON.stringify(health));
  atOnce = most = 0;
  server = createServer((_, response) => {
    most = Math.max(most, ++atOnce);
    response.on('close', () => atOnce--);
    setTimeout(() => answer(response), 10);
  });
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
});
afterEach(async () => {
  await client.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const port = (): number => (server.address() as AddressInfo).port;
const pod = (name: string): KubernetesObject => podWith({ name, ip: '127.0.0.1', port: port() });

describe('asking pods', () => {
  it('gets what they say, also with status 503, in the order of their names', async () => {
    answer = (response) => response.writeHead(503).end(JSON.stringify({ ...health, status: 'degraded' }));
    const found = await client.ask([pod('b'), pod('a')], forever);
    expect(found.map((one) => one.pod)).toEqual(['a', 'b']);
    expect(found[0]?.servers).toEqual([{ id: 'a', mountPath: '/a', healthy: true, detail: undefined }]);
  });

  it('leaves out who does not answer with a health object', async () => {
    const silent = podWith({ name: 'c', ip: '127.0.0.1', port: 1 });
    answer = (response) => response.end('<html>');
    expect(await client.ask([pod('a'), silent], forever)).toEqual([]);
  });

  it('waits for no more than two seconds', async () => {
    answer = () => {};
    const started = performance.now();
    expect(await client.ask([pod('a')], forever)).toEqual([]);
    expect(performance.now() - started).toBeLessThan(3_000);
  });

  it('asks a few at a time, and not all of many', async () => {
    const pods = Array.from({ length: 30 }, (_, index) =>
      podWith({ name: `p${String(index).padStart(2, '0')}`, ip: `127.0.1.${index + 1}`, port: port() }),
    );
    const found = await client.ask(pods, forever);
    expect(found).toHaveLength(10);
    expect(most).toBe(5);
  });

  it('ends with the operator', async () => {
    answer = () => {};
    const stop = new AbortController();
    const asking = client.ask([pod('a')], stop.signal);
    stop.abort(new Error('the operator stops'));
    await expect(asking).rejects.toThrow('the operator stops');
  });
});

it('stops reading what is too long', async () => {
  let read = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (; read < 100; read++) yield Buffer.alloc(10);
  }
  await expect(bodyText(endless(), 25)).rejects.toThrow('longer than 25 bytes');
  expect(read).toBe(2);
});

it('asks only pods that run and have an address', () => {
  const gone = podWith({ name: 'gone' });
  const leaving = { ...gone, metadata: { ...gone.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
  const pods = [podWith({ name: 'a' }), podWith({ phase: 'Pending' }), podWith({ ip: '' }), leaving];
  expect(askable(pods).map(({ metadata }) => metadata.name)).toEqual(['a']);
});

describe('a health object', () => {
  it('tells of upstreams, the state store and references', () => {
    const found = parseHealth('p', {
      servers: [{ server_id: 'a', status: 'degraded', ping: { last_error: 'refused' } }, { no: 'id' }, null],
      persistence: { status: 'degraded', detail: 'redis_unhealthy' },
      references: { changed: true },
    });
    expect(found).toEqual({
      pod: 'p',
      servers: [{ id: 'a', mountPath: undefined, healthy: false, detail: 'refused' }],
      stateStore: { healthy: false, detail: 'redis_unhealthy' },
      referencesChanged: true,
    });
  });

  it.each([null, [], 'x', {}, { servers: 'x' }])('is none: %j', (body) => {
    expect(parseHealth('p', body)).toBeUndefined();
  });
});
