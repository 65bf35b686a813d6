import { describe, expect, test } from 'vitest';
import { ClientSide } from './client-side.ts';
import { ClientSink } from '../older/testing/client-sink.ts';

const sides = (responses: number): { sink: ClientSink; client: ClientSide } => {
  const sink = new ClientSink();
  return { sink, client: new ClientSide(sink, responses) };
};
const refusal = { status: 429, headers: { 'retry-after': '7' }, upstreamSessionId: 'theirs' };
const typeOf = ({ head }: ClientSink): unknown => head?.headers['content-type'];

describe('what a client hears', () => {
  test('is one body where a response is all', () => {
    const { sink, client } = sides(1);
    client.response('{"id":1}');
    expect([typeOf(sink), sink.texts, sink.ended]).toEqual(['application/json', ['{"id":1}'], true]);
  });

  test('is a stream where there is more', () => {
    const { sink, client } = sides(1);
    client.message('{"method":\n"a"}');
    expect(sink.ended).toBe(false);
    client.response('{"id":1}');
    expect([typeOf(sink), sink.texts, sink.ended]).toEqual([
      'text/event-stream',
      ['{"method":\n"a"}', '{"id":1}'],
      true,
    ]);
  });

  test('ends with the last response of several', () => {
    const { sink, client } = sides(2);
    client.response('{"id":2}');
    expect(sink.ended).toBe(false);
    client.response('{"id":1}');
    client.response('{"id":3}');
    client.message('{"method":"late"}');
    expect([sink.texts, sink.ended]).toEqual([['{"id":2}', '{"id":1}'], true]);
  });

  test('ends without the response that nobody waits for', () => {
    const { sink, client } = sides(2);
    client.unanswered();
    expect(sink.ended).toBe(false);
    client.response('{"id":1}');
    expect([sink.texts, sink.ended]).toEqual([['{"id":1}'], true]);
    const alone = sides(1);
    alone.client.unanswered();
    expect([typeOf(alone.sink), alone.sink.texts, alone.sink.ended]).toEqual(['text/event-stream', [], true]);
  });

  test('is the answer of the server itself, without its session', () => {
    const { sink, client } = sides(1);
    client.refused(refusal, Buffer.from('{"a":1}'));
    expect([sink.head, sink.texts, sink.ended]).toEqual([{ ...refusal, upstreamSessionId: null }, ['{"a":1}'], true]);
  });

  test('breaks off where that comes too late', () => {
    const { sink, client } = sides(1);
    client.open();
    expect(client.isUnsaid).toBe(false);
    client.refused(refusal, Buffer.alloc(0));
    expect(sink.failure).toMatchObject({ sent: true });
    expect(sink.ended).toBe(false);
  });

  test('is that all was taken', () => {
    const { sink, client } = sides(0);
    client.accepted();
    expect([sink.head?.status, sink.texts, sink.ended]).toEqual([202, [], true]);
  });

  test('is nothing once it has left', () => {
    const { sink, client } = sides(1);
    client.leave();
    client.open();
    client.message('{}');
    client.response('{}');
    client.unanswered();
    client.refused(refusal, Buffer.alloc(0));
    client.lost();
    client.failed(new Error('late'), true);
    client.end();
    client.accepted();
    expect([sink.head, sink.texts, sink.ended, sink.failure]).toEqual([undefined, [], false, undefined]);
  });

  test('is one failure', () => {
    const { sink, client } = sides(1);
    client.failed(new Error('first'), false);
    client.failed(new Error('second'), true);
    client.response('{}');
    expect([sink.failure, sink.texts]).toEqual([{ error: new Error('first'), sent: false }, []]);
  });
});
