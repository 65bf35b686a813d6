import { describe, expect, test } from 'vitest';

import { cpuMillis } from '../../catalog/testing/cpu-millis.ts';
import { type Frame, FrameSplitter, messageFrame, readFrame } from './sse-frames.ts';
import { MAX_ANSWER_BYTES } from '../../limits.ts';

/** A third of it where the machine has nothing else to do; the square of the length would be seconds. */
const MOST_MILLIS = 60;

/** A stream with all that frames may hold; lines end with LF. */
const STREAM = [
  'id: 0\nretry: 500\ndata:\n\n',
  ': keepalive\n\n',
  'event: message\nid: a/1\ndata: {"text":"naïve 😀"}\n\n',
  'data: first\ndata:second\ndata\ndata:  third\n\n',
  'unknown: x\n\n',
  'retry: 10\nevent: endpoint\ndata: /messages?session=1\n\n',
].join('');
const DATA = ['', undefined, '{"text":"naïve 😀"}', 'first\nsecond\n\n third', undefined, '/messages?session=1'];

const ENDINGS = { LF: '\n', CRLF: '\r\n', CR: '\r' };

function split(stream: Uint8Array, cuts: readonly number[]): { frames: Frame[]; rest: string } {
  const splitter = new FrameSplitter();
  const frames: Frame[] = [];
  let from = 0;
  for (const to of [...cuts, stream.length]) {
    frames.push(...splitter.push(stream.subarray(from, to)));
    from = to;
  }
  return { frames, rest: splitter.rest };
}

/** The frames without those that are but a line end. */
const filled = (frames: readonly Frame[]): Frame[] => frames.filter(({ raw }) => raw.trim() !== '');

describe.each(Object.entries(ENDINGS))('a stream whose lines end with %s', (_name, ending) => {
  const text = STREAM.replaceAll('\n', ending);
  const bytes = Buffer.from(text);

  test('is split into its frames', () => {
    const { frames, rest } = split(bytes, []);
    expect(frames.map(({ data }) => data)).toEqual(DATA);
    expect(frames.map(({ id }) => id)).toEqual(['0', undefined, 'a/1', undefined, undefined, undefined]);
    expect(frames.map(({ event }) => event)).toEqual([
      undefined,
      undefined,
      'message',
      undefined,
      undefined,
      'endpoint',
    ]);
    expect(rest).toBe('');
  });

  test('is split into the same frames wherever it is cut, inside a character too, and no byte is lost', () => {
    for (let cut = 0; cut <= bytes.length; cut++) {
      const { frames, rest } = split(bytes, [cut]);
      expect(filled(frames).map(({ data }) => data)).toEqual(DATA);
      expect(frames.map(({ raw }) => raw).join('') + rest).toBe(text);
    }
  });

  test.each([
    ['comments', ':\n\n'],
    ['blank lines', '\n'],
    ['comments within a line', ':\n'],
    ['unfinished data', 'data:\n'],
    ['messages', `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', method: 'x'.repeat(32) })}\n\n`],
    ['comments before messages', ':\n:\n\n\n: data\nretry: 1\nevent: message\ndata: {"text":"one of many"}\n\n'],
  ])(`T17: 1 MiB of %s is split in ${MOST_MILLIS} ms of CPU`, (_what, unit) => {
    const hostile = Buffer.from(unit.replaceAll('\n', ending).repeat((1 << 20) / unit.length));
    // As it comes from a socket.
    const chunks = Array.from({ length: 16 }, (_, i) => hostile.subarray(i << 16, (i + 1) << 16));
    const millis = cpuMillis(MOST_MILLIS, () => {
      const splitter = new FrameSplitter();
      for (const chunk of chunks) splitter.push(chunk);
    });
    expect(millis).toBeLessThan(MOST_MILLIS);
  });

  test('is split into the same frames when it comes byte by byte, each as soon as it is whole', () => {
    const splitter = new FrameSplitter();
    const ends: number[] = [];
    const frames: Frame[] = [];
    for (let i = 0; i < bytes.length; i++) {
      const found = splitter.push(bytes.subarray(i, i + 1));
      frames.push(...found);
      if (filled(found).length > 0) ends.push(i + 1);
    }
    expect(filled(frames).map(({ data }) => data)).toEqual(DATA);
    // With CRLF the CR of the blank line ends the frame already.
    const expected = [...text.matchAll(new RegExp(`${ending}(?:${ending}|\r)`, 'g'))].map(
      ({ index, 0: match }) => Buffer.byteLength(text.slice(0, index)) + match.length - (ending === '\r\n' ? 1 : 0),
    );
    expect(ends).toEqual(expected);
    expect(frames.map(({ raw }) => raw).join('') + splitter.rest).toBe(text);
  });
});

describe('a stream', () => {
  test.each([
    'data: 1\n\r\ndata: 2\n\n',
    'data: 1\r\n\ndata: 2\n\n',
    'data: 1\r\rdata: 2\r\n\r\n',
    'data: 1\n\rdata: 2\r\n\n',
    'data: 1\r\n\rdata: 2\r\r\n',
  ])('may mix line ends: %j', (text) => {
    const bytes = Buffer.from(text);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const { frames, rest } = split(bytes, [cut]);
      expect(filled(frames).map(({ data }) => data)).toEqual(['1', '2']);
      expect(frames.map(({ raw }) => raw).join('') + rest).toBe(text);
    }
  });

  test('may bring comments and blank lines between its messages, and a comment at once', () => {
    const text = ':a\n\n\n:b\n\n:c\ndata: 1\n\n:d\n\n';
    const { frames, rest } = split(Buffer.from(text), []);
    expect(frames.map(({ raw }) => raw)).toEqual([':a\n\n\n:b\n\n', ':c\ndata: 1\n\n', ':d\n\n']);
    expect([frames.map(({ data }) => data), rest]).toEqual([[undefined, '1', undefined], '']);
  });

  test('keeps an unfinished frame until its end comes', () => {
    const splitter = new FrameSplitter();
    expect(splitter.push(Buffer.from('data: 1\n'))).toEqual([]);
    expect(splitter.rest).toBe('data: 1\n');
    expect(splitter.push(Buffer.alloc(0))).toEqual([]);
    expect(splitter.push(Buffer.from('data: 2\n\nda')).map(({ data }) => data)).toEqual(['1\n2']);
    expect(splitter.rest).toBe('da');
  });

  test('may bring a large frame in small pieces', () => {
    const splitter = new FrameSplitter();
    const piece = Buffer.alloc(4096, 'x');
    // Were the pieces searched again and again, this would take minutes.
    for (let i = 0; i < 8192; i++) expect(splitter.push(piece)).toEqual([]);
    const [frame] = splitter.push(Buffer.from('\ndata: 1\n\n'));
    expect([frame?.raw.length, frame?.data]).toEqual([(32 << 20) + 10, '1']);
  });

  test('with a frame that never ends is given up', () => {
    const splitter = new FrameSplitter();
    const chunk = Buffer.alloc(MAX_ANSWER_BYTES / 4, 'x');
    expect(() => {
      for (let i = 0; i < 5; i++) splitter.push(chunk);
    }).toThrow('is larger than');
  });
});

describe('readFrame', () => {
  test.each<[string, Partial<Frame>]>([
    ['data:a\n\n', { data: 'a' }],
    ['data: a\n\n', { data: 'a' }],
    ['data:  a\n\n', { data: ' a' }],
    ['data: a: b\n\n', { data: 'a: b' }],
    ['data:\n\n', { data: '' }],
    ['data\n\n', { data: '' }],
    [':data: a\n\n', { data: undefined }],
    ['Data: a\n\n', { data: undefined }],
    ['id: 1\nid: 2\nevent: x\nevent: y\n\n', { id: '2', event: 'y' }],
    ['id\nevent\n\n', { id: '', event: '' }],
    ['retry: 5\nretry: 12\nretry: 1x\nretry: -1\n\n', { retry: 12 }],
    ['', { data: undefined, id: undefined, event: undefined }],
  ])('of %j', (raw, expected) => {
    expect(readFrame(raw)).toMatchObject({ raw, ...expected });
  });
});

describe('messageFrame', () => {
  test('has an id only when it is given one, so that the cursor of the client stays the upstream’s', () => {
    expect(messageFrame('{}')).toBe('event: message\ndata: {}\n\n');
    expect(messageFrame('{}', 'a|1')).toBe('event: message\nid: a|1\ndata: {}\n\n');
  });

  test('takes data of several lines', () => {
    const frame = messageFrame('{\n "a":1\n}', 'a|1');
    expect(frame).toBe('event: message\nid: a|1\ndata: {\ndata:  "a":1\ndata: }\n\n');
    expect(readFrame(frame).data).toBe('{\n "a":1\n}');
  });
});
