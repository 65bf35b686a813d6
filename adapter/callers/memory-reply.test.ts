import { describe, expect, test } from 'vitest';

import { AdapterError, knownError } from '../errors.ts';
import type { Ending } from '../path/ending.ts';
import { ReplyMessage } from '../path/reply-message.ts';
import { sampleOperation } from '../steps/testing/step-scene.ts';
import { MemoryReply } from './memory-reply.ts';

const RESPONSE = '{"jsonrpc":"2.0","id":1,"result":{}}';
const settle = () => new Promise((resolve) => setImmediate(resolve));

function scene(maxChars = 1_000) {
  const aborter = new AbortController();
  const operation = sampleOperation({ id: 1, method: 'tools/call', params: { name: 't' } });
  const others: string[] = [];
  const endings: Ending[] = [];
  const reply = new MemoryReply(operation, {
    signal: aborter.signal,
    maxChars,
    onOther: (text) => others.push(text),
    known: (error) => knownError(error, () => undefined),
  });
  reply.response.catch(() => undefined);
  const start = (): void => {
    reply.start({
      pause: () => {},
      resume: () => {},
      abort: (ending) => {
        endings.push(ending);
        reply.end(ending);
      },
    });
    reply.head();
  };
  return { reply, aborter, operation, others, endings, start, attributes: operation.caller.attributes };
}
async function* parts(...all: (string | Buffer)[]): AsyncGenerator<string | Buffer> {
  yield* all;
}

describe('a reply in memory', () => {
  test('is the response, with which the operation ends; the rest is for others', async () => {
    const at = scene();
    at.start();
    const notice = '{"jsonrpc":"2.0","method":"notifications/message"}';
    for (const [kind, text] of [
      ['other', notice],
      ['other', ''],
      ['unsolicited', RESPONSE],
    ] as const) {
      expect(at.reply.message(new ReplyMessage(kind, text))).toBeUndefined();
    }
    expect(at.endings).toEqual([]);
    void at.reply.message(new ReplyMessage('response', [Buffer.from(RESPONSE)]));
    expect(await at.reply.response).toBe(RESPONSE);
    expect([at.others, at.endings, at.attributes.outcome]).toEqual([[notice], [{ outcome: 'ok' }], 'ok']);
    expect(at.reply.message(new ReplyMessage('other', notice))).toBeUndefined();
    expect(at.others).toEqual([notice]);
  });

  test('may come in parts', async () => {
    const at = scene();
    at.start();
    const text = RESPONSE.replace('{}', '"ä"');
    const bytes = Buffer.from(text);
    const middle = bytes.indexOf('ä') + 1;
    const streamed = { bytes: undefined, parts: parts(bytes.subarray(0, middle), bytes.subarray(middle)) };
    await at.reply.message(new ReplyMessage('response', streamed));
    expect(await at.reply.response).toBe(text);
  });

  test('is an error of the operation, or what stands for it', async () => {
    const at = scene();
    at.reply.end({ outcome: 'unknown_tool', error: new AdapterError('unknown_tool', 'No!') });
    expect(JSON.parse(await at.reply.response)).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32602, message: 'No!', data: { code: 'unknown_tool' } },
    });
    const late = scene();
    late.reply.end({ outcome: 'timeout', text: RESPONSE });
    expect(await late.reply.response).toBe(RESPONSE);
    expect([at.attributes.outcome, late.attributes.outcome]).toEqual(['unknown_tool', 'timeout']);
    const unexpected = scene();
    unexpected.reply.end({ outcome: 'internal', error: Object.assign(new Error('x'), { name: 'StoreUnavailable' }) });
    expect(await unexpected.reply.response).toContain('state_unavailable');
    expect(unexpected.attributes.outcome).toBe('state_unavailable');
  });

  test('is an error of the upstream that names no request', async () => {
    const at = scene();
    at.start();
    const text = '{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}';
    void at.reply.message(new ReplyMessage('opaque', [Buffer.from(text)]));
    at.reply.end({ outcome: 'upstream_failed' });
    expect(await at.reply.response).toBe(text);
    expect(at.attributes.outcome).toBe('upstream_failed');
  });

  test('is missing where it has ended without', async () => {
    const at = scene();
    at.reply.end({ outcome: 'ok' });
    await expect(at.reply.response).rejects.toThrow('without a result');
  });

  test('is no longer than it may be', async () => {
    const whole = scene(10);
    whole.start();
    void whole.reply.message(new ReplyMessage('response', RESPONSE));
    await expect(whole.reply.response).rejects.toThrow('larger than');
    await settle();
    expect(whole.endings).toMatchObject([{ outcome: 'client_closed' }]);
    const streamed = scene(10);
    streamed.start();
    await streamed.reply.message(
      new ReplyMessage('response', { bytes: undefined, parts: parts('12345', '67890', '1') }),
    );
    await expect(streamed.reply.response).rejects.toThrow('larger than');
  });
});

describe('a reply that nobody waits for any more', () => {
  const reason = new AdapterError('cancelled');

  test('ends the operation, once', async () => {
    const at = scene();
    at.start();
    at.aborter.abort(reason);
    await expect(at.reply.response).rejects.toBe(reason);
    expect([at.reply.isGone, at.endings]).toEqual([true, [{ outcome: 'client_closed', error: reason }]]);
    at.reply.end({ outcome: 'ok' });
    expect(at.attributes.outcome).toBe('client_closed');
  });

  test('ends an operation as soon as that starts', async () => {
    const at = scene();
    at.aborter.abort(reason);
    expect(at.endings).toEqual([]);
    at.start();
    expect(at.endings).toEqual([{ outcome: 'client_closed', error: reason }]);
  });
});

test('what is to be done afterwards is done once it is over', () => {
  const at = scene();
  let runs = 0;
  at.reply.afterwards(() => runs++);
  expect(runs).toBe(0);
  at.reply.end({ outcome: 'ok' });
  at.reply.end({ outcome: 'ok' });
  expect(runs).toBe(1);
  at.reply.afterwards(() => runs++);
  expect(runs).toBe(2);
});
