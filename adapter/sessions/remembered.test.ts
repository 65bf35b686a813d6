import { beforeEach, describe, expect, test } from 'vitest';

import { type Body, parseBody } from '../exchange/message.ts';
import { sessionRecord } from './testing/session-record.ts';
import { MemoryStore } from '../state/memory/memory-store.ts';
import { remembering } from './remembered.ts';

const bodyOf = (text: string): Body => parseBody(Buffer.from(text)) as Body;
const message = (id: number | string, method: string, params: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });
const result = (id: number | string): string => JSON.stringify({ jsonrpc: '2.0', id, result: {} });
const error = (id: number | string): string => JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_002 } });

describe('what a new upstream session is to be told again', () => {
  const record = sessionRecord();
  let store: MemoryStore;

  beforeEach(async () => {
    store = new MemoryStore();
    await store.open(record);
  });

  const answered = async (body: string, ...answers: string[]): Promise<void> => {
    const remember = remembering(store, record, bodyOf(body));
    for (const answer of answers) await remember?.(answer);
  };
  const kept = async (): Promise<unknown> => {
    const found = await store.find(record, { principal: '', now: 0 });
    return found.state === 'active' && [found.record.logLevel, found.record.subscriptions];
  };

  test('is what the upstream has agreed to', async () => {
    await answered(message(1, 'resources/subscribe', { uri: 'test://a' }), result(1));
    await answered(message('x', 'resources/subscribe', { uri: 'test://b' }), result('x'));
    await answered(message(2, 'logging/setLevel', { level: 'info', x: 1 }), result(2));
    expect(await kept()).toEqual(['{"level":"info","x":1}', ['test://a', 'test://b']]);
    await answered(message(3, 'resources/unsubscribe', { uri: 'test://a' }), result(3));
    expect(await kept()).toEqual(['{"level":"info","x":1}', ['test://b']]);
  });

  test.each([
    ['an error', error(1)],
    ['the result of another', result(2)],
    ['no message', 'null'],
    ['no JSON', '{"jsonrpc":"2.0","id":1,"result":'],
  ])('is not what was answered by %s', async (_, answer) => {
    await answered(message(1, 'resources/subscribe', { uri: 'test://a' }), answer);
    await answered(message(1, 'logging/setLevel', { level: 'info' }), answer);
    expect(await kept()).toEqual([null, []]);
  });

  test.each([
    ['together', [`[${result(1)},${error(2)},${result(3)}]`]],
    ['one by one', [result(3), error(2), result(1)]],
  ])('is found in the answers to a batch: %s', async (_, answers) => {
    const subscribe = (id: number) => message(id, 'resources/subscribe', { uri: `test://${id}` });
    await answered(
      `[${subscribe(1)},${subscribe(2)},${message(3, 'logging/setLevel', { level: 'debug' })}]`,
      ...answers,
    );
    expect(await kept()).toEqual(['{"level":"debug"}', ['test://1']]);
  });

  test('is nothing of other messages', () => {
    for (const body of [
      message(1, 'tools/call', { name: 'x' }),
      message(1, 'resources/subscribe', { uri: 1 }),
      JSON.stringify({ jsonrpc: '2.0', method: 'logging/setLevel', params: { level: 'info' } }),
    ]) {
      expect(remembering(store, record, bodyOf(body))).toBeUndefined();
    }
  });

  test('is not longer than every request of the session can read', () => {
    const body = bodyOf(message(1, 'logging/setLevel', { level: 'x'.repeat(256 << 10) }));
    expect(() => remembering(store, record, body)).toThrow('logging/setLevel are longer than 16384 characters');
  });
});
