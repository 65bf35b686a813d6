import { trimYoung } from '../../lib/memory/trim-memory.ts';
import type { Answer, StreamedAnswer } from '../exchange/answers/answer.ts';
import type { Span } from '../exchange/scanning/json-scan.ts';
import type { ScratchFile } from '../files/disk/scratch-file.ts';
import type { ReplyControl } from '../path/reply.ts';
import { type Outline, OutlineScan } from './outline.ts';
import type { ResultSource } from './result-texts.ts';

/** What waits to be written; beyond it the upstream is held back. */
const MAX_QUEUED_BYTES = 512 << 10;
/** Of an answer that passes, so much waits for its end, which may get a note. */
const END_BYTES = 16 << 10;
/** The quota is asked for that much at a time. */
const COUNTED_BYTES = 4 << 20;
/** More than this is no text; it passes as it comes. */
const MAX_SPOOLED_BYTES = 1 << 30;
/** Memory is given back each time that so many bytes have come (8 MiB). */
const TIDY_SHIFT = 23;

export interface SpooledAnswerOptions {
  readonly control: Pick<ReplyControl, 'pause' | 'resume'>;
  readonly open: () => Promise<ScratchFile>;
  /** Counts so many bytes in the quotas; fails where there is no room. */
  readonly count: (bytes: number) => Promise<void>;
  /** It cannot be kept on the disk: what there is of it, and what is still to come. Returns the note for its result. */
  readonly onFailed: (error: unknown, answer: StreamedAnswer) => PassedNote;
}

/** Puts a note into the end of a message that has left but for that; the same where it does not fit there. */
export type PassedNote = (outline: Outline, end: Buffer) => Buffer;

/**
 * A large answer on its way to the disk, because it is known only at its end what becomes of it.
 *
 *     write ──▶ whole: looked at, and left as something shorter or as it was
 *       └─ the disk or a quota is full ──▶ passing: from the disk, then as it comes
 */
export class SpooledAnswer {
  readonly #options: SpooledAnswerOptions;
  readonly #scan = new OutlineScan();
  #file: ScratchFile | undefined;
  #work: Promise<void> = Promise.resolve();
  #queued = 0;
  #isHeld = false;
  #counted = 0;
  /** What could not be written, and what has come since; undefined as long as all is well. */
  #passing: Buffer[] | undefined;
  #isWhole = false;
  /** It has ended before its end. */
  #isBroken = false;
  #note: PassedNote | undefined;
  #wake: (() => void) | undefined;

  constructor(options: SpooledAnswerOptions) {
    this.#options = options;
  }

  push(chunk: Buffer): void {
    this.#queued += chunk.length;
    this.#holdOrLetGo();
    this.#work = this.#work.then(() => this.#take(chunk));
  }

  /** All of it has come. Undefined where it passes: then nothing can be made of it. */
  async whole(): Promise<ResultSource | undefined> {
    await this.#work;
    this.#isWhole = true;
    this.#wake?.();
    const file = this.#file;
    const outline = this.#scan.end();
    if (this.#passing !== undefined || file === undefined || outline === undefined) return undefined;
    return { outline, read: ({ start, end }: Span) => file.read(start, end) };
  }

  /** It as it came; undefined where it passes already. */
  get asItCame(): Answer | undefined {
    const file = this.#file;
    if (this.#passing !== undefined || file === undefined) return undefined;
    return { bytes: file.size, parts: file.read() };
  }

  /** Nothing of it is needed any more. */
  async close(): Promise<void> {
    await this.#work;
    this.#isBroken = !this.#isWhole;
    this.#isWhole = true;
    this.#wake?.();
    await this.#file?.[Symbol.asyncDispose]();
    this.#file = undefined;
  }

  /** Never fails. */
  async #take(chunk: Buffer): Promise<void> {
    if (this.#passing === undefined) {
      try {
        await this.#write(chunk);
        this.#queued -= chunk.length;
        this.#holdOrLetGo();
        return;
      } catch (error) {
        this.#passing = [];
        this.#note = this.#options.onFailed(error, { bytes: undefined, parts: this.#rest() });
      }
    }
    this.#scan.push(chunk);
    this.#passing.push(chunk);
    this.#wake?.();
  }

  async #write(chunk: Buffer): Promise<void> {
    const { open, count } = this.#options;
    const file = (this.#file ??= await open());
    const size = file.size + chunk.length;
    if (size > MAX_SPOOLED_BYTES) throw new Error(`an answer of more than ${MAX_SPOOLED_BYTES} bytes`);
    if (size > this.#counted) {
      this.#counted = Math.max(size, this.#counted + COUNTED_BYTES);
      await count(this.#counted);
    }
    await file.write(chunk);
    this.#scan.push(chunk);
    // Else what has come lies around in memory, some 50 MB of it.
    if (file.size >> TIDY_SHIFT > (file.size - chunk.length) >> TIDY_SHIFT) trimYoung();
  }

  async *#rest(): AsyncGenerator<Buffer> {
    let end: Buffer = Buffer.alloc(0);
    for await (const chunk of this.#all()) {
      const both = Buffer.concat([end, chunk]);
      const leaving = Math.max(0, both.length - END_BYTES);
      if (leaving > 0) yield both.subarray(0, leaving);
      end = both.subarray(leaving);
    }
    const outline = this.#isBroken ? undefined : this.#scan.end();
    yield outline === undefined ? end : (this.#note?.(outline, end) ?? end);
  }

  async *#all(): AsyncGenerator<Buffer> {
    if (this.#file !== undefined) yield* this.#file.read();
    for (;;) {
      const chunk = this.#passing?.shift();
      if (chunk !== undefined) {
        yield chunk;
        this.#queued -= chunk.length;
        this.#holdOrLetGo();
      } else if (this.#isWhole) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  #holdOrLetGo(): void {
    const { control } = this.#options;
    const isTooMuch = this.#queued > MAX_QUEUED_BYTES;
    if (isTooMuch === this.#isHeld) return;
    this.#isHeld = isTooMuch;
    if (isTooMuch) control.pause();
    else control.resume();
  }
}
