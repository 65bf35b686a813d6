import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

import { describe, expect, test } from 'vitest';

import { AdapterError } from '../errors.ts';
import { type Body, parseBody } from '../exchange/message.ts';
import { sessionRecord } from '../sessions/testing/session-record.ts';
import { callTool, type ForwardedCall, stepOf, toolCall } from './call-tool.ts';
import type { PreparedCall, ToolCall } from './turn.ts';
import { sampleMount } from './testing/sample-mount.ts';

function body(text: string): Body {
  const parsed = parseBody(Buffer.from(text));
  if ('code' in parsed) throw new Error(parsed.detail);
  return parsed;
}
const ONE = body('{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"t"}}');

/** A call, and what happens to it in turn. */
function scene(): { call: ToolCall; told: string[]; sent: () => string } {
  const told: string[] = [];
  const reply = new ServerResponse(new IncomingMessage(new Socket()));
  let sent = '';
  reply.end = ((text: string) => {
    sent = `${reply.statusCode} ${text}`;
    told.push('answer');
    return reply;
  }) as typeof reply.end;
  const incoming = { reply, facts: { requestId: 'r' } };
  const admitted = { finished: (outcome: string) => told.push(`admitted ${outcome}`) };
  const parts = { telemetry: { isOn: true } };
  const turn = { parts, mount: sampleMount(), incoming, admitted } as unknown as ToolCall['turn'];
  const call = toolCall({ turn, record: sessionRecord(), body: ONE, timeoutMs: null });
  return { call, told, sent: () => sent };
}

async function run(
  at: ReturnType<typeof scene>,
  prepared: PreparedCall | Error,
  exchange: (forwarded: ForwardedCall) => void = () => at.told.push('exchange'),
): Promise<void> {
  const step = {
    needsHome: false,
    prepare: async () => {
      if (prepared instanceof Error) throw prepared;
      return prepared;
    },
  };
  const done = async (): Promise<void> => void at.told.push('done');
  await callTool(at.call, step, exchange, done);
}

describe('a call with a step', () => {
  test('is passed on as it was prepared', async () => {
    const at = scene();
    const prepared: PreparedCall = { kind: 'forward', body: ONE };
    let given: unknown;
    await run(at, prepared, (forwarded) => (given = forwarded));
    expect(given).toBe(prepared);
    expect(at.told).toEqual([]);
  });

  test('is answered with a result, after its place is free again', async () => {
    const at = scene();
    await run(at, { kind: 'result', result: '{"content":[],"isError":true}' });
    expect(at.sent()).toBe('200 {"jsonrpc":"2.0","id":"x","result":{"content":[],"isError":true}}');
    expect(at.told).toEqual(['done', 'admitted ok', 'answer']);
  });

  test('is answered with an error and what belongs to it', async () => {
    const at = scene();
    await run(at, { kind: 'error', error: new AdapterError('upload_wanted', 'A file!'), data: { elicitations: [1] } });
    expect(at.sent()).toBe(
      '200 {"jsonrpc":"2.0","id":"x","error":{"code":-32042,"message":"A file!","data":{"code":"upload_wanted","elicitations":[1]}}}',
    );
  });

  test('ends once when its client goes away while it is prepared', async () => {
    const at = scene();
    at.call.turn.incoming.reply.destroy();
    const onEnd = async (outcome: string): Promise<void> => void at.told.push(`end ${outcome}`);
    await run(at, { kind: 'forward', body: ONE, onEnd });
    expect(at.told).toEqual(['admitted client_closed', 'end client_closed', 'done']);
  });

  test('ends once when it cannot be passed on', async () => {
    const at = scene();
    const onEnd = async (outcome: string): Promise<void> => void at.told.push(`end ${outcome}`);
    const failing = run(at, { kind: 'forward', body: ONE, onEnd }, () => {
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(at.told).toEqual(['end internal', 'done']);
  });

  test('fails as its step does', async () => {
    await expect(run(scene(), new AdapterError('storage_busy'))).rejects.toMatchObject({ code: 'storage_busy' });
  });
});

describe('the step of a call', () => {
  const step = { needsHome: false, prepare: () => Promise.reject(new Error('not called')) };
  const additions = { steps: new Map([['t', step]]), transforms: new Map(), own: [], resources: undefined };
  const mount = sampleMount({}, { additions });
  const of = (text: string, on = mount): unknown => {
    const parsed = body(text);
    return stepOf(on, parsed, parsed.messages);
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
