import { describe, expect, test } from 'vitest';

import { type Body, parseBody } from '../../exchange/message.ts';
import type { TraceFields } from './trace-context.ts';
import { withTraceMeta } from './trace-meta.ts';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const PARENT = `"traceparent":"${TRACEPARENT}"`;
const only: TraceFields = { traceparent: TRACEPARENT, tracestate: '', baggage: undefined };
const all: TraceFields = { traceparent: TRACEPARENT, tracestate: 'a=1,b=2', baggage: 'k="v\\"' };

const bodyOf = (text: string): Body => parseBody(Buffer.from(text)) as Body;
const sent = (text: string, fields: TraceFields = only): string => {
  const body = withTraceMeta(bodyOf(text), fields);
  expect(body.bytes.toString()).toBe(body.text);
  return body.text;
};

describe('a message that is sent on', () => {
  test.each([
    [
      'without parameters',
      '{"jsonrpc":"2.0","id":1,"method":"tools/list"} ',
      `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{${PARENT}}}} `,
    ],
    [
      'with empty parameters',
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":{ }}',
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{${PARENT}} }}`,
    ],
    [
      'without metadata',
      '{"params": {"name":"t","arguments":{"n":12345678901234567890}},"jsonrpc":"2.0","id":1,"method":"tools/call"}',
      `{"params": {"_meta":{${PARENT}},"name":"t","arguments":{"n":12345678901234567890}},"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
    ],
    [
      'with empty metadata',
      '{"jsonrpc":"2.0","method":"notifications/x","params":{"_meta":{}}}',
      `{"jsonrpc":"2.0","method":"notifications/x","params":{"_meta":{${PARENT}}}}`,
    ],
    [
      'with metadata of others',
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta" : { "progressToken":7 }}}',
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta" : {${PARENT}, "progressToken":7 }}}`,
    ],
    [
      'with the context of the client',
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"a":1,"traceparent" : "00-old","z":[]}}}',
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"a":1,"traceparent" : "${TRACEPARENT}","z":[]}}}`,
    ],
    [
      'with a context that is named twice, once with escapes',
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"traceparent":"x","trace\\u0070arent":{"y":"}"}}}}',
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"traceparent":"${TRACEPARENT}","trace\\u0070arent":"${TRACEPARENT}"}}}`,
    ],
    [
      'whose arguments look like metadata',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"_meta":{"traceparent":"x"}},"name":"_meta"}}',
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{${PARENT}},"arguments":{"_meta":{"traceparent":"x"}},"name":"_meta"}}`,
    ],
  ])('%s carries the context, and is otherwise what it was', (_what, text, expected) => {
    expect(sent(text)).toBe(expected);
  });

  test('carries states and baggage too', () => {
    const { params } = JSON.parse(sent('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"ü🌍"}}', all)) as {
      params: unknown;
    };
    expect(params).toEqual({
      _meta: { traceparent: TRACEPARENT, tracestate: 'a=1,b=2', baggage: 'k="v\\"' },
      x: 'ü🌍',
    });
  });

  test('keeps no state of another trace, but baggage', () => {
    const text =
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"traceparent":"x","tracestate":"old=1","baggage":"b=1"}}}';
    const { params } = JSON.parse(sent(text)) as { params: { _meta: unknown } };
    expect(params['_meta']).toEqual({ traceparent: TRACEPARENT, tracestate: '', baggage: 'b=1' });
  });
});

describe('as it is passes', () => {
  test.each([
    ['a response', '{"jsonrpc":"2.0","id":1,"result":{}}'],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'],
    ['metadata that is no object', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":null}}'],
    ['metadata that is a list', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":[]}}'],
  ])('%s', (_what, text) => {
    const body = bodyOf(text);
    expect(withTraceMeta(body, all)).toBe(body);
  });
});
