import { describe, expect, test } from 'vitest';

import { asEventData, EventBytes, eventText, openEvent } from './event-text.ts';
import { readFrame } from '../scanning/sse-frames.ts';

const written = (raw: string, data = readFrame(raw).data): string => eventText(readFrame(raw), data);

describe('a frame that is written anew', () => {
  test.each([
    ['event: message\nid: 7\ndata: {}\n\n', 'event: message\nid: 7\ndata: {}\n\n'],
    ['data:{}\r\nid:7\r\n\r\n', 'id: 7\ndata: {}\n\n'],
    [': comment\nx: y\nData: z\ndata: {\ndata: }\n\n', 'data: {\ndata: }\n\n'],
    [': a\u2028data: {}\n\n', ''],
    [': a\u000bdata: {}\n\n', ''],
    ['id: 7\ndata:\n\n', 'id: 7\ndata:\n\n'],
    ['id: 7\n\n', 'id: 7\n\n'],
    ['data:\n\n', ''],
    ['id: a\u0085data: {}\ndata: {}\n\n', 'data: {}\n\n'],
    ['id:\ndata: {}\n\n', 'id: \ndata: {}\n\n'],
  ])('H3 T10: is of %j what makes a difference to a message: %j', (raw, expected) => {
    expect(written(raw)).toBe(expected);
  });

  test.each([
    ['0', 1000],
    ['999', 1000],
    ['5000', 5000],
    ['9460800000000', 3_600_000],
    ['9'.repeat(400), 3_600_000],
  ])('L6: lets clients come back after 1 s to 1 h, where the server says %s ms', (said, expected) => {
    expect(written(`retry: ${said}\n\n`)).toBe(`retry: ${expected}\n\n`);
  });

  test('may have its data in parts', () => {
    expect(openEvent(readFrame('event: message\nid: 7\nx: y\ndata: old\n\n'))).toBe('event: message\nid: 7\ndata: ');
  });
});

describe('JSON as the data of an event', () => {
  const controls = '\u007f\u0080\u0085\u009f\u2028\u2029';

  test('H3 T10: has nothing that a client takes for the end of a line, and says the same', () => {
    const json = JSON.stringify({ a: `é€😀\u00a0${controls}` });
    const data = asEventData(json) ?? '';
    expect(data).not.toMatch(/[\x7f-\x9f\u2028\u2029]/);
    expect(JSON.parse(data)).toEqual(JSON.parse(json));
  });

  test('stays as it is where there is none of it', () => {
    const json = '{"a":"é€😀\u00a0","n":12345678901234567890}';
    expect(asEventData(json)).toBe(json);
  });

  test.each(['\u0000', '\u000b', '\u000c', '\u001c', '\u001e', '\r'])('H3 T10: is no JSON with %j', (control) => {
    expect(asEventData(`{"a":"${control}"}`)).toBeUndefined();
  });

  test('is the same in parts that are cut anywhere', () => {
    const json = JSON.stringify({ a: `é€â\u0080😀Â${controls}Â` });
    const bytes = Buffer.from(json);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const parts = new EventBytes();
      const out = [bytes.subarray(0, cut), bytes.subarray(cut)].map((part) => Buffer.from(parts.push(part)));
      expect(Buffer.concat(out).toString()).toBe(asEventData(json));
    }
  });

  test('costs nothing where nothing is to be done', () => {
    const part = Buffer.from('{"a":"é€😀"}');
    expect(new EventBytes().push(part)).toBe(part);
  });
});
