import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';

export const BOUNDARY = 'the-boundary';
export const MULTIPART = `multipart/form-data; boundary=${BOUNDARY}`;

/** One part of a form as it goes over the wire, with its headers as they are given. */
export const part = (headers: string, content: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from(`--${BOUNDARY}\r\n${headers}\r\n\r\n`), Buffer.from(content), Buffer.from('\r\n')]);

/** A file whose name stands in the header byte for byte. */
export const filePart = (name: string, content: string | Buffer = 'content'): Buffer =>
  part(`Content-Disposition: form-data; name="file"; filename="${name}"`, content);

export const END = Buffer.from(`--${BOUNDARY}--\r\n`);

export interface RawAnswer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * Posts what `chunks` gives, as long as nobody answers, and resolves with the answer. Paths and headers go out as they
 * are, which `fetch` would not let happen. An answer that comes before the end of the body is the answer.
 */
export function send(
  url: string,
  chunks: Iterable<Buffer>,
  headers: Record<string, string>,
  method = 'POST',
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const path = url.replace(/^http:\/\/[^/]+/, '');
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
  let answered = false;
  const req = request({ hostname, port, path, method, headers }, (res) => {
    answered = true;
    answerOf(res).then(resolve, reject);
  });
  req.on('error', (error) => {
    // The rest of a body that was refused has nowhere to go.
    if (!answered) reject(error);
  });
  void (async () => {
    for (const chunk of chunks) {
      if (answered || req.destroyed) return;
      if (!req.write(chunk)) await writable(req);
      // Lets an answer in between.
      await nextTurn();
    }
    req.end();
  })().catch(reject);
  return promise.finally(() => req.destroy());
}

/** Resolves when there is room for more, or nobody who takes it. */
function writable(req: ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      req.off('drain', done).off('response', done).off('close', done);
      resolve();
    };
    req.on('drain', done).on('response', done).on('close', done);
  });
}

async function answerOf(res: IncomingMessage): Promise<RawAnswer> {
  const chunks: Buffer[] = [];
  for await (const chunk of res) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return { status: res.statusCode ?? 0, body: text.startsWith('{') ? JSON.parse(text) : text };
}
