import type { Readable } from 'node:stream';

import { Busboy, type BusboyFileStream } from '@fastify/busboy';

import { MOST_OF_A_BODY, SmallParts, TOO_SMALL } from '../../../lib/stream/small-parts.ts';
import { AdapterError } from '../../errors.ts';
import { FormContent } from './form-content.ts';

/** A file of a form while it comes in. */
export interface FormFile {
  /** As the client wrote it; undefined when it gave none. */
  readonly filename: string | undefined;
  /** Lower case, without parameters; `text/plain` also where the client gave none (RFC 7578, section 4.4). */
  readonly mimeType: string;
  /** A chunk is valid only until the next one is asked for. */
  readonly content: AsyncIterable<Buffer> | Iterable<Buffer>;
}

export interface FormHandlers {
  /** Called for one file after the other; must read `content` to its end or fail. */
  file(file: FormFile): Promise<void>;
  /** Called in the order of the form. `value` is cut at `MAX_FIELD_BYTES`. */
  field(name: string, value: string): void;
}

/** More than anyone sends at once; each needs a record and a folder. */
export const MAX_FILES = 100;
const MAX_FIELDS = 200;
/** A hash has 64 characters. */
const MAX_FIELD_BYTES = 1024;
const MAX_HEADER_BYTES = 8 * 1024;
const MAX_HEADERS_PER_PART = 32;
/** Boundaries, headers and whatever stands between the parts; the largest form that is allowed needs a tenth of it. */
const MAX_OVERHEAD_BYTES = 4 * 1024 * 1024;
/** A client from which less comes in so long is gone, or only wants to keep the connection. */
const LEAST_BYTES = 64 * 1024;
const PATIENCE_MS = 60_000;
const BUFFER_BYTES = 128 * 1024;
const MULTIPART = /^multipart\/form-data\s*;/i;

export function isMultipart(contentType: string | undefined): contentType is string {
  return contentType !== undefined && MULTIPART.test(contentType);
}

/**
 * Reads a form of files and fields as it comes, never faster than `handlers.file` takes it. Resolves when the form is
 * complete and every handler has ended. Fails with AdapterError `invalid_multipart`, with what a handler failed with,
 * or with the reason of `signal`, and then reads no further: the rest of the body is left to the caller. Takes over the
 * chunks of the body: their memory is given back once they were read.
 */
export function readForm(
  body: Readable,
  contentType: string,
  handlers: FormHandlers,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const open = new Set<FormContent>();
  let parser: InstanceType<typeof Busboy>;
  let ended = false;
  let received = 0;
  let useful = 0;
  /** Since the client was last given its time. */
  let recent = 0;
  const small = new SmallParts(MOST_OF_A_BODY);
  /** The chunk that the parser has. */
  let parsed: Buffer | undefined;
  /** Files wait for each other here: a chunk of the body may hold many small ones. */
  let queue = Promise.resolve();

  const stop = (): void => {
    ended = true;
    clearTimeout(patience);
    body.off('data', onData).off('end', onEnd).off('error', onLost).off('close', onLost);
    signal.removeEventListener('abort', onAbort);
  };
  const fail = (reason: unknown): void => {
    if (ended) return;
    stop();
    body.pause();
    // Whoever reads a file learns of it there, and has cleaned up when the form fails.
    for (const content of open) content.fail(reason);
    void queue.then(() => reject(reason as Error));
  };
  const malformed = (detail: string): void => fail(new AdapterError('invalid_multipart', detail));
  const onAbort = (): void => fail(signal.reason);
  const onLost = (): void => fail(new AdapterError('invalid_multipart', 'The body ended before the form did.'));
  const onEnd = (): void => {
    // From here on nothing more is awaited of the client; it may go, which `signal` says.
    body.off('error', onLost).off('close', onLost);
    clearTimeout(patience);
    parser.end();
  };
  const patience = setTimeout(() => {
    // While we do not read, nothing can come.
    if (body.isPaused()) patience.refresh();
    else fail(new AdapterError('request_timeout'));
  }, PATIENCE_MS);
  const onData = (chunk: Buffer): void => {
    if (small.reached(chunk.length)) return malformed(TOO_SMALL);
    received += chunk.length;
    recent += chunk.length;
    if (recent >= LEAST_BYTES) {
      recent = 0;
      patience.refresh();
    }
    parsed = chunk;
    if (!parser.write(chunk)) body.pause();
    if (received - useful > MAX_OVERHEAD_BYTES)
      malformed('The form consists of too much that is neither file nor field.');
  };

  const onFile = (name: string, file: BusboyFileStream, filename: string | undefined, mimeType: string): void => {
    // Broken forms let it fail, also while nobody reads it yet.
    file.on('error', () => undefined);
    const end = file.push.bind(file, null);
    const content = new FormContent(
      () => file._read(0),
      () => {
        open.delete(content);
        // The parser waits for its end.
        end();
        file.resume();
      },
    );
    file.push = (chunk: Buffer | null) => {
      // What the parser hands on is counted where it does so: it may wait for its reader for a while.
      useful += chunk?.length ?? 0;
      // What the parser has kept of an earlier chunk lies in memory of its own, which it uses again.
      return content.push(chunk === null || chunk.buffer === parsed?.buffer ? chunk : Buffer.from(chunk));
    };
    if (name !== 'file') {
      malformed(`The form has a file in the field ${JSON.stringify(name)}; send files as the field "file".`);
    }
    if (ended) {
      content.fail(undefined);
      return;
    }
    open.add(content);
    queue = queue.then(async () => {
      if (ended) return;
      try {
        await handlers.file({ filename, mimeType, content: content.read() });
      } catch (error) {
        fail(error);
      }
    });
  };

  try {
    parser = new Busboy({
      headers: { 'content-type': contentType },
      highWaterMark: BUFFER_BYTES,
      fileHwm: BUFFER_BYTES,
      preservePath: true,
      isPartAFile: (name, _type, filename) => name === 'file' || filename !== undefined,
      limits: {
        files: MAX_FILES,
        fields: MAX_FIELDS,
        parts: MAX_FILES + MAX_FIELDS,
        fieldSize: MAX_FIELD_BYTES,
        headerPairs: MAX_HEADERS_PER_PART,
        headerSize: MAX_HEADER_BYTES,
      },
    });
  } catch (cause) {
    clearTimeout(patience);
    return Promise.reject(
      new AdapterError('invalid_multipart', 'The content type names no usable boundary.', { cause }),
    );
  }
  parser.on('file', (name, file, filename, _encoding, mimeType) => onFile(name, file, filename, mimeType));
  parser.on('field', (name, value) => {
    useful += Math.min(value.length, MAX_FIELD_BYTES);
    if (!ended) handlers.field(name, value);
  });
  parser.on('filesLimit', () => malformed(`The form has more than ${MAX_FILES} files.`));
  parser.on('fieldsLimit', () => malformed(`The form has more than ${MAX_FIELDS} fields.`));
  parser.on('partsLimit', () => malformed('The form has too many parts.'));
  parser.on('error', (cause) => {
    fail(new AdapterError('invalid_multipart', undefined, { cause }));
  });
  parser.on('drain', () => {
    if (ended) return;
    patience.refresh();
    body.resume();
  });
  parser.on('finish', () => {
    void queue.then(() => {
      if (ended) return;
      stop();
      resolve();
    });
  });

  signal.addEventListener('abort', onAbort);
  body.on('data', onData).once('end', onEnd).once('error', onLost).once('close', onLost);
  if (signal.aborted) onAbort();
  else if (body.destroyed) onLost();
  return promise;
}
