import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { FakeUpstream } from '../../exchange/testing/fake-upstream.ts';
import { sampleMount } from '../../gateway/testing/sample-mount.ts';
import { sessionRecord } from '../../sessions/testing/session-record.ts';
import type { ControlMessage } from '../../state/message-bus.ts';
import { MemoryStore } from '../../state/memory/memory-store.ts';
import type { ResponseControl, ResponseHead, ResponseSink, UpstreamRequest } from '../../exchange/upstream.ts';
import type { Operation } from '../../path/operation.ts';
import { LostStream } from './lost-stream.ts';
import { sampleClient, sampleOperation } from '../testing/step-scene.ts';

beforeEach(() => void vi.useFakeTimers({ fakeNodeBuiltins: true }));
afterEach(() => void vi.useRealTimers());

/** Opens sessions, each under its own id, and answers pings with this status; streams are left to the test. */
class Upstream extends FakeUpstream {
  pingStatus = 200;
  sessions = 0;

  override send(request: UpstreamRequest, sink: ResponseSink): void {
    super.send(request, sink);
    if (request.method === 'GET') return;
    const { id, method } = JSON.parse(request.body?.text ?? '') as { id?: unknown; method: string };
    const exchange = this.last;
    this.exchanges.pop();
    if (method === 'initialize') {
      const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'u', version: '1' } };
      exchange.head(200, { 'content-type': 'application/json' }, `new-${++this.sessions}`);
      exchange.data(JSON.stringify({ jsonrpc: '2.0', id, result })).end();
    } else if (method === 'ping' && this.pingStatus === 200) {
      exchange
        .json()
        .data(JSON.stringify({ jsonrpc: '2.0', id, result: {} }))
        .end();
    } else exchange.json(method === 'ping' ? this.pingStatus : 202).end();
  }

  /** The event that it knows. */
  override knowsEvent(eventId?: string): boolean {
    return eventId === '7';
  }
}

/** Who hears what comes of the stream. */
class Sink implements ResponseSink {
  readonly heard: string[] = [];
  readonly isOver = false;
  onStart(_control: ResponseControl): void {}
  onHead({ status }: ResponseHead): void {
    this.heard.push(`head ${status}`);
  }
  onData(): void {}
  onEnd(): void {}
  onError(error: Error): void {
    this.heard.push(`${String((error as { code?: unknown }).code)}: ${error.message}`);
  }
}

async function scene(lastEventId?: string) {
  const upstream = new Upstream();
  const store = new MemoryStore();
  const record = sessionRecord({ createdAt: Date.now(), lastActiveAt: Date.now() });
  await store.open(record);
  const told: ControlMessage[] = [];
  const mount = sampleMount({}, { upstream });
  const bus = { publish: async (message: ControlMessage) => void told.push(message) };
  const step = new LostStream({ client: sampleClient(mount, store), upstream, bus });
  const operation: Operation = sampleOperation(undefined);
  operation.record = record;
  operation.lastEventId = lastEventId;
  const sink = new Sink();
  step.ask(operation, sink, ({ session, lastEventId: from }, next) =>
    upstream.send({ method: 'GET', session, headers: [], body: undefined, lastEventId: from }, next),
  );
  return { upstream, told, operation, heard: sink.heard };
}
const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(10_000);

describe('a stream', () => {
  test('is opened where the client saw it last, if the upstream knows that place', async () => {
    expect((await scene('7')).upstream.last.request.lastEventId).toBe('7');
    expect((await scene('8')).upstream.last.request.lastEventId).toBeUndefined();
    const { upstream, heard } = await scene();
    upstream.last.eventStream();
    expect(heard).toEqual(['head 200']);
  });

  test('of a session that is lost is opened in a new one, from its beginning', async () => {
    const { upstream, operation, heard } = await scene('7');
    upstream.pingStatus = 404;
    upstream.last.head(404).end();
    await settle();
    expect(upstream.exchanges).toHaveLength(2);
    const { session, lastEventId } = upstream.last.request;
    expect([session?.upstreamSessionId, lastEventId]).toEqual(['new-1', undefined]);
    expect(operation.session.upstreamSessionId).toBe('new-1');
    for (let i = 0; i < 2; i++) {
      upstream.last.head(404).end();
      await settle();
    }
    expect(heard).toEqual(['upstream_failed: The upstream server ends each new session.']);
  });

  test('is not there where the upstream knows the session all the same', async () => {
    const { upstream, heard } = await scene();
    upstream.last.head(404).end();
    await settle();
    expect(heard).toEqual(['method_not_allowed: The upstream server has no event stream.']);
  });

  test('takes the place of another one, wherever that is held', async () => {
    const { upstream, told, operation, heard } = await scene();
    for (let i = 0; i < 6; i++) {
      upstream.last.head(409).end();
      await settle();
    }
    const { serverId, sessionId } = sessionRecord();
    const drop = { type: 'drop-get', serverId, sessionId, except: operation.streamId };
    expect(told).toEqual(Array.from({ length: 5 }, () => drop));
    expect(heard).toEqual([expect.stringMatching(/^stream_conflict/)]);
  });

  test('that cannot be taken up again takes nothing away from one that is open', async () => {
    const { upstream, told, heard } = await scene('8');
    upstream.last.head(409).end();
    await settle();
    expect([told, heard]).toEqual([[], [expect.stringMatching(/^stream_conflict/)]]);
  });
});
