import { PassThrough, Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';

import { Busboy } from '@fastify/busboy';
import { afterEach, describe, expect, test, vi } from 'vitest';

import { releaseBytes } from '../../exchange/answers/release-bytes.ts';
import { AdapterError } from '../../errors.ts';
import { type FormFile, type FormHandlers, readForm } from './upload-form.ts';

const TYPE = 'multipart/form-data; boundary=b';
const HEAD = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
const END = '\r\n--b--\r\n';
const NEVER = new AbortController().signal;

const handlers = (file: FormHandlers['file'] = read): FormHandlers => ({ file, field: () => undefined });

async function read(file: FormFile): Promise<void> {
  for await (const chunk of file.content) void chunk;
}

afterEach(() => {
  vi.useRealTimers();
});

test('a form that comes byte by byte is read as one that comes at once', async () => {
  const text = `${HEAD}first\r\n--c\r\n-${END}`;
  for (const chunks of [[Buffer.from(text)], [...Buffer.from(text)].map((byte) => Buffer.from([byte]))]) {
    let seen = '';
    const take = async (file: FormFile): Promise<void> => {
      for await (const chunk of file.content) seen += chunk.toString();
    };
    await readForm(Readable.from(chunks), TYPE, handlers(take), NEVER);
    expect(seen).toBe('first\r\n--c\r\n-');
  }
});

test('the memory of what was read is given back, but not what the parser still needs', async () => {
  // The parser keeps the end of a chunk that may be the beginning of a boundary, in memory that it uses again and again.
  const parts = ['1\r\n--', '2\r\n--', '3', '4\r\n--', '5'].map((part) =>
    Buffer.from(new Uint8Array(Buffer.from(part))),
  );
  const large = Buffer.alloc(100_000, 'x');
  let seen = '';
  const take = async (file: FormFile): Promise<void> => {
    for await (const chunk of file.content) seen += chunk.toString();
  };
  await readForm(Readable.from([Buffer.from(HEAD), ...parts, large, Buffer.from(END)]), TYPE, handlers(take), NEVER);
  expect(seen).toBe(`1\r\n--2\r\n--34\r\n--5${'x'.repeat(100_000)}`);
  expect(large.length).toBe(0);
});

test("a file stream of busboy's own joins what waits, so that the memory of what was read is not given back", async () => {
  const chunks = ['x', 'y'].map((letter) => Buffer.alloc(50_000, letter));
  const parser = new Busboy({ headers: { 'content-type': TYPE }, highWaterMark: 128 * 1024, fileHwm: 128 * 1024 });
  const seen = Promise.withResolvers<number>();
  const slow = async (file: AsyncIterable<Buffer>): Promise<number> => {
    let bytes = 0;
    // As an upload waits for its turn and its folder.
    await turn();
    for await (const chunk of file) {
      bytes += chunk.length;
      releaseBytes(chunk);
    }
    return bytes;
  };
  parser.on('file', (_name, file) => void slow(file).then(seen.resolve, seen.reject));
  for (const chunk of [Buffer.from(HEAD), ...chunks, Buffer.from(END)]) parser.write(chunk);
  parser.end();
  expect(await seen.promise).toBe(100_000);
  expect(chunks.map(({ length }) => length)).toEqual([50_000, 50_000]);

  const same = ['x', 'y'].map((letter) => Buffer.alloc(50_000, letter));
  const late = async (file: FormFile): Promise<void> => {
    await turn();
    await read(file);
  };
  await readForm(Readable.from([Buffer.from(HEAD), ...same, Buffer.from(END)]), TYPE, handlers(late), NEVER);
  expect(same.map(({ length }) => length)).toEqual([0, 0]);
});

test('no more is read than the reader of a file takes', async () => {
  const body = new PassThrough({ highWaterMark: 1 });
  const going = Promise.withResolvers<void>();
  let seen = 0;
  const waiting = async (file: FormFile): Promise<void> => {
    await going.promise;
    for await (const chunk of file.content) seen += chunk.length;
  };
  const form = readForm(body, TYPE, handlers(waiting), NEVER);
  body.write(HEAD);
  let sent = 0;
  for (let i = 0; i < 1000; i++) {
    await turn();
    if (body.writableNeedDrain) continue;
    body.write(Buffer.alloc(10_000));
    sent += 10_000;
  }
  expect(sent).toBeLessThan(1_000_000);
  going.resolve();
  body.end(END);
  await form;
  expect(seen).toBe(sent);
});

/** So many turns of the loop that whatever could go on has done so. */
async function idle(): Promise<void> {
  for (let i = 0; i < 200; i++) await turn();
}

describe('a client from which too little comes', () => {
  test.each([
    ['nothing', 0],
    ['a byte every second', 1],
    ['a KiB every second', 1024],
  ])('is given up after a minute: %s', async (_name, bytes) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const body = new PassThrough();
    const form = readForm(body, TYPE, handlers(), NEVER);
    const failed = expect(form).rejects.toMatchObject({ code: 'request_timeout' });
    body.write(HEAD + 'x'.repeat(64 * 1024));
    await turn();
    for (let second = 1; second < 60; second++) {
      vi.advanceTimersByTime(1_000);
      body.write(Buffer.alloc(bytes));
      await turn();
    }
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(1_001);
    await failed;
  });

  test('is read to the end when it is only slow', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const body = new PassThrough();
    const form = readForm(body, TYPE, handlers(), NEVER);
    body.write(HEAD);
    for (let minute = 0; minute < 100; minute++) {
      vi.advanceTimersByTime(59_000);
      body.write(Buffer.alloc(64 * 1024));
      await turn();
    }
    body.end(END);
    await form;
  });

  test('is not blamed while it is we who do not read', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const body = new PassThrough();
    const going = Promise.withResolvers<void>();
    const slow = async (file: FormFile): Promise<void> => {
      await going.promise;
      await read(file);
    };
    const form = readForm(body, TYPE, handlers(slow), NEVER);
    body.write(HEAD);
    for (let i = 0; i < 100; i++) body.write(Buffer.alloc(10_000));
    await turn();
    vi.advanceTimersByTime(230_000);
    going.resolve();
    await idle();
    vi.advanceTimersByTime(59_000);
    body.end(END);
    await form;
  });
});

describe('what goes wrong', () => {
  test('in one file ends the form with it, and the next is not begun', async () => {
    const begun: string[] = [];
    const failing = (file: FormFile): Promise<void> => {
      begun.push(file.filename ?? '');
      return Promise.reject(new AdapterError('storage_quota'));
    };
    const body = Readable.from([Buffer.from(`${HEAD}x\r\n${HEAD}y${END}`)]);
    await expect(readForm(body, TYPE, handlers(failing), NEVER)).rejects.toMatchObject({ code: 'storage_quota' });
    expect(begun).toEqual(['a']);
  });

  test('is told only when the file that was open has been let go', async () => {
    const stop = new AbortController();
    const body = new PassThrough();
    const opened = Promise.withResolvers<void>();
    const letGo = Promise.withResolvers<void>();
    let told = false;
    const holding = async (file: FormFile): Promise<void> => {
      opened.resolve();
      try {
        await read(file);
      } finally {
        await letGo.promise;
      }
    };
    const form = readForm(body, TYPE, handlers(holding), stop.signal).finally(() => (told = true));
    const failed = expect(form).rejects.toMatchObject({ code: 'cancelled' });
    body.write(`${HEAD}x`);
    await opened.promise;
    stop.abort(new AdapterError('cancelled'));
    await idle();
    expect(told).toBe(false);
    letGo.resolve();
    await failed;
  });

  test('T17: with thousands of single bytes is told, and no more is read', async () => {
    let read = 0;
    const bytes = function* (): Generator<Buffer> {
      yield Buffer.from(HEAD);
      while (++read < 100_000) yield Buffer.from('x');
    };
    await expect(readForm(Readable.from(bytes()), TYPE, handlers(), NEVER)).rejects.toMatchObject({
      code: 'invalid_multipart',
      message: expect.stringContaining('too many parts'),
    });
    expect(read).toBeLessThan(5_000);
  });

  test('before it began is told at once', async () => {
    const gone = new PassThrough();
    gone.destroy();
    await expect(readForm(gone, TYPE, handlers(), NEVER)).rejects.toMatchObject({ code: 'invalid_multipart' });
    const over = AbortSignal.abort(new AdapterError('draining'));
    await expect(readForm(new PassThrough(), TYPE, handlers(), over)).rejects.toMatchObject({ code: 'draining' });
  });
});
