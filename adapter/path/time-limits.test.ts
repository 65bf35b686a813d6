import { describe, expect, test } from 'vitest';

import { type Body, type Message, parseBody } from '../exchange/message.ts';
import { longest, requestTimeout, timeoutResults } from './time-limits.ts';

function body(...messages: object[]): Body {
  const text = JSON.stringify(messages.length === 1 ? messages[0] : messages);
  const parsed = parseBody(Buffer.from(text));
  if ('code' in parsed) throw new Error(parsed.detail);
  return parsed;
}
const request = (method: string, id: unknown = 1, params?: object): object => ({ jsonrpc: '2.0', id, method, params });

test.each<[Body, number | null]>([
  [body(request('tools/list')), 300_000],
  [body(request('subscriptions/listen')), null],
  [body(request('tasks/result')), null],
  [body(request('ping'), request('tasks/result')), null],
  [body({ jsonrpc: '2.0', method: 'subscriptions/listen' }), 300_000],
  [body({ jsonrpc: '2.0', id: 1, result: {} }), 300_000],
])('the time limit of %j is %s', (one, expected) => {
  expect(requestTimeout(one)).toBe(expected);
});

test.each<[(number | null)[], number | null]>([
  [[5], 5],
  [[5, 7, 6], 7],
  [[5, null], null],
  [[], 0],
])('the longest of %j is %s', (limits, expected) => {
  expect(longest(limits)).toBe(expected);
});

describe('the answer to a call that took too long', () => {
  const calls = (...all: object[]): readonly Message[] => body(...all).messages;

  test('is a result that says so to the model', () => {
    const text = timeoutResults('s1', calls(request('tools/call', 'a', { name: 'slow' })), [2500]);
    expect(JSON.parse(text)).toEqual({
      jsonrpc: '2.0',
      id: 'a',
      result: {
        content: [
          {
            type: 'text',
            text:
              'The tool "slow" of the server "s1" did not finish within its limit of 2.5 seconds and was cancelled. ' +
              'It may have had effects already.',
          },
        ],
        isError: true,
      },
    });
  });

  test('answers each call of a batch with its own limit', () => {
    const batch = calls(request('tools/call', 1, { name: 'a' }), request('tools/call', 2, {}));
    const results: { id: number; result: { content: { text: string }[] } }[] = JSON.parse(
      timeoutResults('s1', batch, [1000, 2000]),
    );
    expect(results.map(({ id, result }) => [id, result.content[0]?.text.slice(0, 80)])).toEqual([
      [1, 'The tool "a" of the server "s1" did not finish within its limit of 1 seconds and'],
      [2, 'The tool "" of the server "s1" did not finish within its limit of 2 seconds and '],
    ]);
  });
});
