import { describe, expect, test } from 'vitest';
import type { ResponseControl, ResponseSink } from '../exchange/upstream.ts';
import { MarkedEventIds, ownEventId } from './event-id-mark.ts';

describe('the id of an event', () => {
  test.for<[id: string, generation: number, own: string | undefined]>([
    ['stream-1_5', 0, 'stream-1_5'],
    ['2~stream-1_5', 0, '2~stream-1_5'],
    ['2~stream-1_5', 2, 'stream-1_5'],
    ['2~7~5', 2, '7~5'],
    ['2~', 2, ''],
    ['1~stream-1_5', 2, undefined],
    ['stream-1_5', 2, undefined],
    ['', 2, undefined],
  ])('%j is, for upstream session %i, %j', ([id, generation, own]) => {
    expect(ownEventId(id, generation)).toBe(own);
  });
});

/** Collects what passes. */
class Recorder implements ResponseSink {
  text = '';
  ended = false;
  errors: Error[] = [];
  onStart(): void {}
  onHead(): void {}
  onData(chunk: Buffer): void {
    this.text += chunk.toString();
  }
  onEnd(): void {
    this.ended = true;
  }
  onError(error: Error): void {
    this.errors.push(error);
  }
}

function pass(chunks: string[], contentType = 'text/event-stream; charset=utf-8'): Recorder {
  const recorder = new Recorder();
  const control: ResponseControl = { pause: () => undefined, resume: () => undefined, abort: () => undefined };
  const marked = new MarkedEventIds(recorder, 3);
  marked.onStart(control);
  marked.onHead({ status: 200, headers: { 'content-type': contentType }, upstreamSessionId: null });
  for (const chunk of chunks) marked.onData(Buffer.from(chunk));
  marked.onEnd();
  expect(recorder.ended).toBe(true);
  return recorder;
}

describe('marking', () => {
  test.for<[stream: string, marked: string]>([
    ['id: a\ndata: {"id":1}\n\n', 'id: 3~a\ndata: {"id":1}\n\n'],
    ['event: message\r\nid:a\r\ndata: id: b\r\n\r\n', 'event: message\r\nid:3~a\r\ndata: id: b\r\n\r\n'],
    ['id: a\ndata:\n\nid: b\ndata: x\n\n', 'id: 3~a\ndata:\n\nid: 3~b\ndata: x\n\n'],
    ['data: x\n\n', 'data: x\n\n'],
    [': keepalive\n\n', ': keepalive\n\n'],
    ['id:\ndata: x\n\n', 'id:\ndata: x\n\n'],
    ['id: a\rdata: x\r\r', 'id: 3~a\rdata: x\r\r'],
    ['id: a\ndata: x\u2028id: b\u2029id: c\n\n', 'id: 3~a\ndata: x\u2028id: b\u2029id: c\n\n'],
    ['id: a\ndata: unfinished', 'id: a\ndata: unfinished'],
  ])('%j becomes %j, however it is cut', ([stream, marked]) => {
    expect(pass([stream]).text).toBe(marked);
    expect(pass(stream.split('')).text).toBe(marked);
  });

  test('what is no event stream stays as it is', () => {
    expect(pass(['id: a\n\n'], 'application/json').text).toBe('id: a\n\n');
  });
});
