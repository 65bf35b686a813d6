import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { valueAt } from '../../lib/json/tree.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { isObject } from '../../lib/json/json-object.ts';
import { textAt } from '../kubernetes/unstructured.ts';
import { type HealthSource, PodClient, probeablePods } from './pod-client.ts';
import { bodyText } from './http-body.ts';

interface Health {
  readonly pod: string;
  readonly status: string | undefined;
}

const source: HealthSource<Health> = {
  container: 'program',
  port: 'web',
  maxPods: 10,
  maxBytes: 1024,
  parse: (pod, body) => (isObject(body) && 'status' in body ? { pod, status: textAt(body, 'status') } : undefined),
  news: ({ status }) => status,
};

function podWith(
  name: string,
  { ip = '10.0.0.1', port = 80, phase = 'Running', container = 'program', portName = 'web' } = {},
): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'team' },
    spec: {
      containers: [
        { name: 'sidecar', ports: [{ name: 'web', containerPort: 1 }] },
        { name: container, ports: [{ name: portName, containerPort: port }] },
      ],
    },
    status: { phase, podIP: ip },
  };
}

const forever = new AbortController().signal;

let client: PodClient<Health>;
let server: Server;
let answer: (response: ServerResponse) => void;
let atOnce: number;
let most: number;

beforeEach(async () => {
  client = new PodClient(source);
  answer = (response) => response.end('{"status":"ok"}');
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
const pod = (name: string): KubernetesObject => podWith(name, { ip: '127.0.0.1', port: port() });

describe('asking pods', () => {
  it('T5: connects to no metadata service, whatever address a pod says it has', async () => {
    const codes: unknown[] = [];
    const onError = (message: unknown): void => void codes.push(valueAt(message, ['error', 'code']));
    subscribe('undici:client:connectError', onError);
    expect(await client.probe([podWith('a', { ip: '169.254.169.254' })], forever)).toEqual([undefined]);
    unsubscribe('undici:client:connectError', onError);
    expect(codes).toEqual(['ERR_BLOCKED_ADDRESS']);
  });

  it('T17: reads nothing that has too many values', async () => {
    const many = new PodClient({ ...source, maxBytes: 1024 * 1024 });
    answer = (response) => response.end(`{"status":"ok","x":[${'0,'.repeat(200_000)}0]}`);
    expect(await many.probe([pod('a')], forever)).toEqual([undefined]);
    await many.close();
  });

  it('gets what they say, also with status 503, in their order', async () => {
    answer = (response) => response.writeHead(503).end('{"status":"degraded"}');
    const found = await client.probe([pod('b'), pod('a')], forever);
    expect(found).toEqual([
      { pod: 'b', status: 'degraded' },
      { pod: 'a', status: 'degraded' },
    ]);
  });

  it('leaves out an answer that is too long', async () => {
    answer = (response) => response.end(`{"status":"ok","more":"${'x'.repeat(1024)}"}`);
    expect(await client.probe([pod('a')], forever)).toEqual([undefined]);
  });

  it('leaves out who does not answer with a health object', async () => {
    const silent = podWith('c', { ip: '127.0.0.1', port: 1 });
    answer = (response) => response.end('<html>');
    expect(await client.probe([pod('a'), silent], forever)).toEqual([undefined, undefined]);
  });

  it('waits for no more than two seconds', async () => {
    answer = () => {};
    const started = performance.now();
    expect(await client.probe([pod('a')], forever)).toEqual([undefined]);
    expect(performance.now() - started).toBeLessThan(3_000);
  });

  it('asks a few at a time', async () => {
    const waiting: ServerResponse[] = [];
    answer = (response) => {
      waiting.push(response);
      if (waiting.length < 5) return;
      // By then a sixth would have come.
      setTimeout(() => waiting.splice(0).forEach((one) => one.end('{"status":"ok"}')), 50);
    };
    const pods = Array.from({ length: 10 }, (_, index) =>
      podWith(`p${String(index).padStart(2, '0')}`, { ip: `127.0.1.${index + 1}`, port: port() }),
    );
    const found = await client.probe(pods, forever);
    expect(found).toHaveLength(10);
    expect(most).toBe(5);
  });

  it('ends with the operator', async () => {
    answer = () => {};
    const stop = new AbortController();
    const asking = client.probe([pod('a')], stop.signal);
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

it("asks only pods that run, have an address, and serve the port in the program's container", () => {
  const gone = podWith('gone');
  const leaving = { ...gone, metadata: { ...gone.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
  const pods = [
    podWith('a'),
    podWith('starting', { phase: 'Pending' }),
    podWith('nowhere', { ip: '' }),
    podWith('other', { container: 'another' }),
    podWith('closed', { portName: 'another' }),
    leaving,
  ];
  expect(probeablePods(pods, source).map(({ metadata }) => metadata.name)).toEqual(['a']);
});
