import { describe, expect, test } from 'vitest';

import { AnswerWatch, noteAnswer, noteBytes, noteResult, type RecordedAnswers } from './answer-watch.ts';

const FAILED = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"é"}],"isError":true}}';
const REFUSED = '{"jsonrpc":"2.0","id":1,"error":{"message":"no \\"code\\": 7","code":-32602}}';
const FINE = '{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":false}}';

/** Of answers, and what they say. */
const ANSWERS: [what: string, text: string, failure: RecordedAnswers['failure']][] = [
  ['of a tool that has failed', FAILED, 'tool_error'],
  ['of a tool that has failed, spaced out', FAILED.replaceAll(/([:,{])/g, '$1\n '), 'tool_error'],
  ['that is an error', REFUSED, -32602],
  ['that is an error without a code', '{"id":1,"error":{}}', 0],
  ['that is an error with a code that is none', '{"id":1,"error":{"code":"x"}}', 0],
  ['that says that all is well', FINE, undefined],
  ['that says nothing about it', '{"id":1,"result":{"content":[]}}', undefined],
  ['with the word in a text', JSON.stringify({ id: 1, result: { text: FAILED, list: ['isError', true] } }), undefined],
  [
    'with the member elsewhere',
    '{"id":1,"result":{"structuredContent":{"isError":true,"error":{"code":1}}}}',
    undefined,
  ],
  ['with another value', '{"id":1,"result":{"isError":"true"}}', undefined],
  ['that is no JSON', 'internal "error"', undefined],
  ['that is nothing', '', undefined],
];

describe('an answer', () => {
  test.each(ANSWERS)('%s', (_what, text, failure) => {
    const noted: RecordedAnswers = {};
    noteAnswer(noted, text);
    expect(noted.failure).toBe(failure);
  });

  test.each(ANSWERS)('%s, in bytes, wherever they are cut', (_what, text, failure) => {
    const bytes = Buffer.from(text);
    for (let at = 0; at <= bytes.length; at++) {
      const noted: RecordedAnswers = {};
      noteBytes(noted, [bytes.subarray(0, at), bytes.subarray(at)]);
      expect(noted.failure, `cut at ${at}`).toBe(failure);
    }
  });

  test('that is long is looked at only at its end', () => {
    const long = 'x'.repeat(300_000);
    const at = (text: string): RecordedAnswers => {
      const noted: RecordedAnswers = {};
      noteAnswer(noted, text);
      return noted;
    };
    expect(at(`{"id":1,"result":{"content":["${long}"],"isError": true}}`).failure).toBe('tool_error');
    expect(at(`{"id":1,"result":{"content":["${long}"],"isError": false}}`).failure).toBeUndefined();
  });

  test('with those of a batch tells each call its own', () => {
    const noted = { calls: [{ idText: '1' }, { idText: '"a"' }, { idText: '3' }] };
    noteAnswer(noted, ` [${FAILED}, {"id":"a","error":{"code":-1}}, {"id":3,"result":{}}]`);
    noteAnswer(noted, '{"id":4,"error":{"code":-7}}');
    expect(noted).toEqual({
      calls: [{ idText: '1', failure: 'tool_error' }, { idText: '"a"', failure: -1 }, { idText: '3' }],
    });
  });
});

test('the result of a call', () => {
  const failures = ['{"isError":true,"content":[]}', '{"isError":false}', '{"_meta":{"isError":true}}'].map((text) => {
    const noted: RecordedAnswers = {};
    noteResult(noted, text);
    return noted.failure;
  });
  expect(failures).toEqual(['tool_error', undefined, undefined]);
});

describe('what leaves chunk by chunk', () => {
  /** What is noted of it, given in pieces of a size. */
  function watched(text: string, size: number, isEventStream: boolean): RecordedAnswers['failure'] {
    const noted: RecordedAnswers = {};
    const watch = new AnswerWatch(noted, isEventStream);
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += size) watch.sees(bytes.subarray(at, at + size));
    watch.end();
    return noted.failure;
  }
  const log = 'event: message\ndata: {"method":"notifications/message","params":{"level":"error"}}\n\n';

  test.each(ANSWERS)('as events: %s', (_what, text, failure) => {
    const events = `${log}: keepalive\n\nid: 7\ndata: ${text.replaceAll('\n', ' ')}\n\n${log}`;
    for (const size of [1, 2, 3, 7, 16, 1000]) expect(watched(events, size, true), `by ${size}`).toBe(failure);
    expect(watched(events.replaceAll('\n', '\r\n'), 5, true)).toBe(failure);
  });

  test.each(ANSWERS)('as a whole: %s', (_what, text, failure) => {
    for (const size of [1, 5, 1000]) expect(watched(text, size, false), `by ${size}`).toBe(failure);
  });

  test('keeps no more of a long answer than its end', () => {
    const noted: RecordedAnswers = {};
    const watch = new AnswerWatch(noted, false);
    watch.sees(Buffer.from('{"id":1,"result":{"content":["'));
    for (let i = 0; i < 1_000; i++) watch.sees(Buffer.alloc(64 << 10, 'x'));
    watch.sees(Buffer.from('"],"isErr'));
    watch.sees(Buffer.from('or": true}}'));
    watch.end();
    expect(noted.failure).toBe('tool_error');
  });

  test('of several answers, one that has failed counts', () => {
    expect(watched(`data: ${FAILED}\n\ndata: ${FINE}\n\n`, 1000, true)).toBe('tool_error');
  });
});
