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
  let parser;
  try {
    parser = formParser(contentType);
  } catch (cause) {
    return Promise.reject(
      new AdapterError('invalid_multipart', 'The content type names no usable boundary.', { cause }),
    );
  }
  return new FormReader(body, parser, handlers, signal).read();
}

const formParser = (contentType: string): InstanceType<typeof Busboy> =>
  new Busboy({
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

/** One form on its way from the body through the parser to its handlers. */
class FormReader {
  readonly #body: Readable;
  readonly #parser: InstanceType<typeof Busboy>;
  readonly #handlers: FormHandlers;
  readonly #signal: AbortSignal;
  readonly #result = Promise.withResolvers<void>();
  readonly #open = new Set<FormContent>();
  #ended = false;
  #received = 0;
  #useful = 0;
  /** Since the client was last given its time. */
  #recent = 0;
  readonly #small = new SmallParts(MOST_OF_A_BODY);
  /** The chunk that the parser has. */
  #parsed: Buffer | undefined;
  /** Files wait for each other here: a chunk of the body may hold many small ones. */
  #queue = Promise.resolve();
  readonly #patience: NodeJS.Timeout;

  constructor(body: Readable, parser: InstanceType<typeof Busboy>, handlers: FormHandlers, signal: AbortSignal) {
    this.#body = body;
    this.#parser = parser;
    this.#handlers = handlers;
    this.#signal = signal;
    this.#patience = setTimeout(() => {
      // While we do not read, nothing can come.
      if (body.isPaused()) this.#patience.refresh();
      else this.#fail(new AdapterError('request_timeout'));
    }, PATIENCE_MS);
  }

  read(): Promise<void> {
    this.#hearParser();
    this.#signal.addEventListener('abort', this.#onAbort);
    this.#body.on('data', this.#onData).once('end', this.#onEnd).once('error', this.#onLost);
    this.#body.once('close', this.#onLost);
    if (this.#signal.aborted) this.#onAbort();
    else if (this.#body.destroyed) this.#onLost();
    return this.#result.promise;
  }

  #hearParser(): void {
    const parser = this.#parser;
    parser.on('file', (name, file, filename, _encoding, mimeType) => this.#onFile(name, file, filename, mimeType));
    parser.on('field', (name, value) => {
      this.#useful += Math.min(value.length, MAX_FIELD_BYTES);
      if (!this.#ended) this.#handlers.field(name, value);
    });
    parser.on('filesLimit', () => this.#malformed(`The form has more than ${MAX_FILES} files.`));
    parser.on('fieldsLimit', () => this.#malformed(`The form has more than ${MAX_FIELDS} fields.`));
    parser.on('partsLimit', () => this.#malformed('The form has too many parts.'));
    parser.on('error', (cause) => {
      this.#fail(new AdapterError('invalid_multipart', undefined, { cause }));
    });
    parser.on('drain', () => {
      if (this.#ended) return;
      this.#patience.refresh();
      this.#body.resume();
    });
    parser.on('finish', () => {
      void this.#queue.then(() => {
        if (this.#ended) return;
        this.#stop();
        this.#result.resolve();
      });
    });
  }

  // ── the body ───────────────────────────────────────────────────────────────────────────────────────────────────

  readonly #onData = (chunk: Buffer): void => {
    if (this.#small.reached(chunk.length)) return this.#malformed(TOO_SMALL);
    this.#received += chunk.length;
    this.#recent += chunk.length;
    if (this.#recent >= LEAST_BYTES) {
      this.#recent = 0;
      this.#patience.refresh();
    }
    this.#parsed = chunk;
    if (!this.#parser.write(chunk)) this.#body.pause();
    if (this.#received - this.#useful > MAX_OVERHEAD_BYTES)
      this.#malformed('The form consists of too much that is neither file nor field.');
  };

  readonly #onEnd = (): void => {
    // From here on nothing more is awaited of the client; it may go, which `signal` says.
    this.#body.off('error', this.#onLost).off('close', this.#onLost);
    clearTimeout(this.#patience);
    this.#parser.end();
  };

  readonly #onLost = (): void => this.#malformed('The body ended before the form did.');

  readonly #onAbort = (): void => this.#fail(this.#signal.reason);

  #malformed(detail: string): void {
    this.#fail(new AdapterError('invalid_multipart', detail));
  }

  #fail(reason: unknown): void {
    if (this.#ended) return;
    this.#stop();
    this.#body.pause();
    // Whoever reads a file learns of it there, and has cleaned up when the form fails.
    for (const content of this.#open) content.fail(reason);
    void this.#queue.then(() => this.#result.reject(reason as Error));
  }

  #stop(): void {
    this.#ended = true;
    clearTimeout(this.#patience);
    this.#body.off('data', this.#onData).off('end', this.#onEnd).off('error', this.#onLost).off('close', this.#onLost);
    this.#signal.removeEventListener('abort', this.#onAbort);
  }

  // ── its files ──────────────────────────────────────────────────────────────────────────────────────────────────

  #onFile(name: string, file: BusboyFileStream, filename: string | undefined, mimeType: string): void {
    // Broken forms let it fail, also while nobody reads it yet.
    file.on('error', () => undefined);
    const content = this.#contentOf(file);
    if (name !== 'file') {
      this.#malformed(`The form has a file in the field ${JSON.stringify(name)}; send files as the field "file".`);
    }
    if (this.#ended) {
      content.fail(undefined);
      return;
    }
    this.#open.add(content);
    this.#queue = this.#queue.then(async () => {
      if (this.#ended) return;
      try {
        await this.#handlers.file({ filename, mimeType, content: content.read() });
      } catch (error) {
        this.#fail(error);
      }
    });
  }

  #contentOf(file: BusboyFileStream): FormContent {
    const end = file.push.bind(file, null);
    const content = new FormContent(
      () => file._read(0),
      () => {
        this.#open.delete(content);
        // The parser waits for its end.
        end();
        file.resume();
      },
    );
    file.push = (chunk: Buffer | null) => {
      // What the parser hands on is counted where it does so: it may wait for its reader for a while.
      this.#useful += chunk?.length ?? 0;
      // What the parser has kept of an earlier chunk lies in memory of its own, which it uses again.
      return content.push(chunk === null || chunk.buffer === this.#parsed?.buffer ? chunk : Buffer.from(chunk));
    };
    return content;
  }
}
