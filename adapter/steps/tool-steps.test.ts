import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { AdapterError } from '../errors.ts';
import { FakeUpstream } from '../exchange/testing/fake-upstream.ts';
import { askUpstream } from '../mount/ask-upstream.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';
import { ToolParameters } from '../tools/tool-parameters.ts';
import type { PreparedCall, ToolCall, ToolStep } from '../tools/visible/tool-step.ts';
import { messages } from '../path/messages.ts';
import type { Operation } from '../path/operation.ts';
import { compose, type Send, type Step } from '../path/step.ts';
import { SessionRegistry } from '../sessions/session-registry.ts';
import { sessionRecord } from '../sessions/testing/session-record.ts';
import { MemoryStore } from '../state/memory/memory-store.ts';
import { Breaker } from './breaker.ts';
import { InSession } from './sessions/in-session.ts';
import {
  answerTo,
  bodyOf,
  pass,
  RecordingReply,
  refusal,
  sampleClient,
  sampleOperation,
} from './testing/step-scene.ts';
import { ToolSteps } from './tool-steps.ts';

const CALL = '{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"t"}}';
const PREPARED = bodyOf(CALL.replace('"t"', '"t","arguments":{}'));

let store: MemoryStore;
let sessions: SessionRegistry;

beforeEach(async () => {
  store = new MemoryStore();
  sessions = new SessionRegistry(store, { maxActive: null, maxInFlight: 1, idleTtlMs: null });
  await store.open(sessionRecord());
});
afterEach(() => sessions.stop());

/** A call, and what happens to it in turn. */
function scene(prepared: PreparedCall | Error) {
  const told: string[] = [];
  const calls: ToolCall[] = [];
  const step: ToolStep = {
    needsHome: false,
    prepare: async (call) => {
      calls.push(call);
      if (prepared instanceof Error) throw prepared;
      return prepared;
    },
  };
  const additions = { steps: new Map([['t', step]]), transforms: new Map(), own: [], resources: undefined };
  const upstream = new FakeUpstream();
  const mount = sampleMount({ upstream_ping: { failure_threshold: 1 } }, { additions, upstream });
  const steps: Step[] = [
    new InSession(sessions, () => false),
    new Breaker('s1', mount.breaker, () => false),
    new ToolSteps(mount, sampleClient(mount, store), new ToolParameters()),
  ];
  const headers = { 'mcp-session-id': sessionRecord().sessionId };
  const operation = sampleOperation(CALL, { caller: { headers } });
  const reply = new RecordingReply();
  reply.onTold = (what) => told.push(`${what} in flight: ${sessions.inFlight}`);
  const last = messages({ dropped: () => undefined, refused: () => undefined }, askUpstream(mount));
  const run = async (behind: Send = last): Promise<void> => {
    compose(steps, behind)(operation, reply);
    await reply.ended;
  };
  return { told, calls, mount, upstream, steps, operation, reply, run };
}

describe('a call with a step', () => {
  test('is passed on as it was prepared', async () => {
    const prepared: PreparedCall = { kind: 'forward', body: PREPARED };
    const at = scene(prepared);
    const passed = await pass(at.steps, at.operation, at.reply);
    expect(passed?.operation.sent).toBe(prepared.body);
    expect(passed?.reply.reads).toBe(false);
    expect(at.told).toEqual([]);
    expect(at.calls).toMatchObject([
      {
        tool: 't',
        request: at.operation.request,
        body: at.operation.body,
        record: at.operation.session,
        timeoutMs: null,
      },
    ]);
  });

  test('is answered with a result, after its place is free again', async () => {
    const prepared: PreparedCall = { kind: 'result', result: '{"content":[],"isError":true}' };
    const at = scene(prepared);
    at.mount.breaker.pingFailed(Date.now() - 3_600_000);
    expect(await answerTo(at.steps, at.operation)).toBe(
      '200 {"jsonrpc":"2.0","id":"x","result":{"content":[],"isError":true}}',
    );
    // It was no probe of the upstream.
    expect(at.mount.breaker.snapshot(Date.now())).toMatchObject({ state: 'half_open', half_open_probe_count: 0 });
    const again = scene(prepared);
    await again.run();
    expect(again.told.at(-1)).toBe('end answered in flight: 0');
  });

  test('is answered with an error and what belongs to it', async () => {
    const error = new AdapterError('upload_wanted', 'A file!');
    const at = scene({ kind: 'error', error, data: { elicitations: [1] } });
    expect(await answerTo(at.steps, at.operation)).toBe(
      '200 {"jsonrpc":"2.0","id":"x","error":{"code":-32042,"message":"A file!","data":{"code":"upload_wanted","elicitations":[1]}}}',
    );
  });

  test('ends once when its client goes away while it is prepared', async () => {
    const onEnd = async (outcome: string): Promise<void> => void at.told.push(`end ${outcome}`);
    const at = scene({ kind: 'forward', body: PREPARED, onEnd });
    at.reply.leave();
    await at.run();
    expect(at.told).toEqual(['start in flight: 1', 'end client_closed', 'end client_closed in flight: 0']);
    expect(at.upstream.exchanges).toEqual([]);
  });

  test('ends once when it cannot be passed on', async () => {
    const onEnd = async (outcome: string): Promise<void> => void at.told.push(`end ${outcome}`);
    const at = scene({ kind: 'forward', body: PREPARED, onEnd });
    at.steps.push({
      send: () => {
        throw new Error('no');
      },
    });
    await at.run();
    expect((await at.reply.ended).error).toEqual(new Error('no'));
    expect(at.told).toEqual(['end internal', 'end internal in flight: 0']);
  });

  test('fails as its step does', async () => {
    const at = scene(new AdapterError('storage_busy'));
    expect(await refusal(at.steps, at.operation)).toMatchObject({ code: 'storage_busy' });
  });

  test('shows its response to what was prepared, and tells it its end before the client hears of it', async () => {
    const onEnd = async (outcome: string, goesOn?: boolean): Promise<void> =>
      void at.told.push(`end ${outcome} ${goesOn}`);
    const at = scene({ kind: 'forward', body: PREPARED, onResponse: (text) => text.replace('1', '2'), onEnd });
    const done = at.run();
    while (at.upstream.exchanges.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(at.upstream.last.request.body).toBe(PREPARED);
    at.upstream.last.json().data('{"jsonrpc":"2.0","id":"x","result":{"n":1}}').end();
    await done;
    expect(at.told).toEqual([
      'start in flight: 1',
      'head 200 in flight: 1',
      '{"jsonrpc":"2.0","id":"x","result":{"n":2}} in flight: 0',
      'end ok undefined',
      'end ok in flight: 0',
    ]);
  });

  test.each([true, false])('shows what comes before its response, where that is wanted: %s', async (isWanted) => {
    const at = scene({
      kind: 'forward',
      body: PREPARED,
      onResponse: (text) => text,
      ...(isWanted && { onOther: (text) => text.replace('/a', 'b') }),
    });
    const done = at.run();
    while (at.upstream.exchanges.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"message":"/a"}}';
    const question = '{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"/a?"}}';
    const response = '{"jsonrpc":"2.0","id":"x","result":{"t":"/a"}}';
    at.upstream.last.eventStream();
    // The second one says only where the stream is.
    for (const data of [progress, '', question, response]) at.upstream.last.data(`id: 1\ndata: ${data}\n\n`);
    at.upstream.last.end();
    await done;
    const [seen, place, asked, answered] = at.told.slice(2);
    const said = (text: string): string => (isWanted ? text.replace('/a', 'b') : text);
    expect([seen, asked]).toEqual([progress, question].map((text) => `${said(text)} in flight: 1`));
    expect(place).toBe(' in flight: 1');
    expect(answered).toContain(response);
  });
});

test('a call without sessions has a result of that revision, and headers that repeat what was prepared', async () => {
  const called = async (prepared: PreparedCall): Promise<{ operation: Operation; reply: RecordingReply }> => {
    const step: ToolStep = { needsHome: false, prepare: async () => prepared };
    const additions = { steps: new Map([['t', step]]), transforms: new Map(), own: [], resources: undefined };
    const mount = sampleMount({}, { additions });
    const toolParameters = { of: async () => [{ header: 'mcp-param-file', path: ['file'] }] };
    const operation = sampleOperation(CALL, { isSessionless: true });
    operation.record = sessionRecord();
    const reply = new RecordingReply();
    await pass(new ToolSteps(mount, sampleClient(mount, store), toolParameters), operation, reply);
    return { operation, reply };
  };
  const { reply } = await called({ kind: 'result', result: '{"content":[]}' });
  expect(reply.told).toContain('{"jsonrpc":"2.0","id":"x","result":{"resultType":"complete","content":[]}}');
  const body = bodyOf(CALL.replace('"t"', '"t","arguments":{"file":"/a"}'));
  const { operation } = await called({ kind: 'forward', body });
  expect(operation.sentHeaders?.slice(-2)).toEqual(['mcp-param-file', '/a']);
});

describe('the step of a call', () => {
  const step = { needsHome: false, prepare: () => Promise.reject(new Error('not called')) };
  const additions = { steps: new Map([['t', step]]), transforms: new Map(), own: [], resources: undefined };
  const mount = sampleMount({}, { additions });
  const of = (text: string, on = mount): unknown => {
    const { messages: all, batch } = bodyOf(text);
    const steps = new ToolSteps(on, sampleClient(on), new ToolParameters());
    return all.map((call) => steps.of(call, batch)).find((one) => one !== undefined);
  };
  const call = (name: string): string => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${name}}}`;

  test('is that of its tool, if there is one', () => {
    expect(of(call('"name":"t"'))).toBe(step);
    expect(of(call('"name":"T"'))).toBeUndefined();
    expect(of(`[${call('"name":"u"')}]`)).toBeUndefined();
  });

  test('cannot be missed by a batch or by a strange name', () => {
    expect(() => of(`[${call('"name":"u"')},${call('"name":"t"')}]`)).toThrow(
      expect.objectContaining({ code: 'invalid_request' }) as Error,
    );
    for (const params of ['"name":["t"]', '']) {
      expect(() => of(call(params))).toThrow(expect.objectContaining({ code: 'unknown_tool' }) as Error);
      expect(of(call(params), sampleMount())).toBeUndefined();
    }
  });
});
