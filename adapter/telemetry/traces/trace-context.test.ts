import { TraceFlags } from '@opentelemetry/api';
import { describe, expect, test } from 'vitest';

import { type Body, parseBody } from '../../exchange/message.ts';
import { receivedContext, traceFields, withTraceHeaders } from './trace-context.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const OTHER = '1af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const parent = (trace = TRACE, span = SPAN, flags = '01'): string => `00-${trace}-${span}-${flags}`;

function message(meta?: unknown, batch = false): Body {
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: meta } });
  return parseBody(Buffer.from(batch ? `[${text}]` : text)) as Body;
}

describe('the context of a request', () => {
  test('is that of its headers', () => {
    const { parent: found, link } = receivedContext({ traceparent: parent(), tracestate: 'v=1' }, message());
    expect(found).toMatchObject({ traceId: TRACE, spanId: SPAN, traceFlags: TraceFlags.SAMPLED, isRemote: true });
    expect(found?.traceState?.serialize()).toBe('v=1');
    expect(link).toBeUndefined();
  });

  test('is that of the message before that of its headers, which is linked', () => {
    const headers = { traceparent: parent(OTHER, 'a7ad6b7169203331'), tracestate: 'h=1', baggage: 'h=1' };
    const meta = { traceparent: parent(TRACE, SPAN, '00'), baggage: 'm=1' };
    const { parent: found, link, baggage } = receivedContext(headers, message(meta));
    expect(found).toMatchObject({ traceId: TRACE, traceFlags: TraceFlags.NONE });
    // States belong to the context that they came with.
    expect(found?.traceState).toBeUndefined();
    expect(link).toMatchObject({ traceId: OTHER });
    expect(baggage).toBe('m=1');
  });

  test('that is the same in both places is no link', () => {
    expect(receivedContext({ traceparent: parent() }, message({ traceparent: parent() })).link).toBeUndefined();
  });

  test('is that of the headers for a batch', () => {
    const { parent: found } = receivedContext({ traceparent: parent(OTHER) }, message({ traceparent: parent() }, true));
    expect(found).toMatchObject({ traceId: OTHER });
  });

  test.each([
    ['nothing', {}],
    ['no text', { traceparent: { toString: () => parent() } }],
    ['null', null],
    ['a list', [parent()]],
    ['another format', { traceparent: TRACE }],
    ['upper case', { traceparent: parent(TRACE.toUpperCase()) }],
    ['a trace of zeros', { traceparent: parent('0'.repeat(32)) }],
    ['a span of zeros', { traceparent: parent(TRACE, '0'.repeat(16)) }],
    ['more than there is', { traceparent: `${parent()}-00` }],
    ['version ff', { traceparent: parent().replace('00', 'ff') }],
    ['two of them', { traceparent: `${parent()}, ${parent()}` }],
  ])('that says %s in the message is that of the headers', (_what, meta) => {
    expect(receivedContext({ traceparent: parent(OTHER) }, message(meta)).parent).toMatchObject({ traceId: OTHER });
    expect(receivedContext({}, message(meta)).parent).toBeUndefined();
  });

  test.each([
    ['ends a header', 'a=1\r\nx: y'],
    ['is no ASCII', 'a=ü'],
    ['is too long', `a=${'x'.repeat(8192)}`],
    ['is empty', ''],
    ['is no text', 7],
  ])('holds no baggage that %s', (_what, baggage) => {
    expect(receivedContext({}, message({ baggage })).baggage).toBeUndefined();
  });
});

const pairs = (headers: readonly string[]): unknown[] =>
  headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1]]] : []));

describe('the headers of a request to an upstream', () => {
  const context = { traceId: TRACE, spanId: SPAN, traceFlags: TraceFlags.SAMPLED };

  test('carry the context instead of any other', () => {
    const { parent: received, baggage } = receivedContext(
      { traceparent: parent(), tracestate: 'a=1,b=2', baggage: 'k=v;p=1' },
      undefined,
    );
    const fields = traceFields({ ...context, traceState: received?.traceState }, baggage);
    const headers = ['accept', '*/*', 'TraceParent', 'x', 'tracestate', 'y', 'Baggage', 'z', 'x-tracestate', '1'];
    expect(pairs(withTraceHeaders(headers, fields))).toEqual([
      ['accept', '*/*'],
      ['x-tracestate', '1'],
      ['traceparent', parent()],
      ['tracestate', 'a=1,b=2'],
      ['baggage', 'k=v;p=1'],
    ]);
  });

  test('keep the baggage that the configuration lets through where there is no other', () => {
    const headers = ['tracestate', 'old=1', 'baggage', 'z=1'];
    const sent = withTraceHeaders(headers, traceFields({ ...context, traceFlags: TraceFlags.NONE }, undefined));
    expect(sent).toEqual(['baggage', 'z=1', 'traceparent', parent(TRACE, SPAN, '00')]);
  });
});
