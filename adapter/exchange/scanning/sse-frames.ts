import { MAX_ANSWER_BYTES } from '../../limits.ts';

/** One frame of an event stream (HTML standard, section 9.2.6), with its fields as clients read them. */
export interface Frame {
  /** The frame with its closing blank line, as it came. */
  readonly raw: string;
  /** The joined `data` lines; undefined when there are none (comments). */
  readonly data: string | undefined;
  readonly id: string | undefined;
  readonly event: string | undefined;
  /** Milliseconds. */
  readonly retry: number | undefined;
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
/** Stands for the lines of a frame that were taken out of it. */
const COMMENT = ':';
const LONGEST_BLANK_LINE = '\r\n\r\n'.length;

/** Splits a stream of decoded text into frames; keeps the unfinished rest. */
export class FrameSplitter {
  /** The unfinished frame, in the pieces in which it came: joining them for every chunk would be quadratic. */
  #pieces: string[] = [];
  #length = 0;
  /** The end of the pieces, where a blank line may have begun. */
  #tail = '';
  /** The last frame ended with a CR, which the LF that follows belongs to. */
  #endedInCr = false;
  #decoder = new TextDecoder();

  /** The frames that end within this chunk. Throws when a single frame grows past MAX_ANSWER_BYTES characters. */
  push(chunk: Uint8Array): Frame[] {
    const frames: Frame[] = [];
    let text = this.#decoder.decode(chunk, { stream: true });
    if (text === '') return frames;
    if (this.#endedInCr && text.startsWith('\n')) {
      frames.push(readFrame('\n'));
      text = text.slice(1);
    }
    this.#endedInCr = false;
    // The first blank line may have begun in what was kept.
    const kept = this.#tail.length;
    const all = this.#tail + text;
    const ends = new FrameEnds(all);
    let from = kept;
    for (;;) {
      const begun = this.#length > 0;
      const silent = begun ? from : ends.silentAfter(from);
      const end = silent > from ? silent : ends.after(from === kept ? 0 : from);
      if (end === -1) break;
      const raw = all.slice(from, end);
      frames.push(silent > from ? silence(raw) : readFrame(begun ? this.rest + raw : raw));
      if (begun) this.#forget();
      from = end;
    }
    if (from === all.length) this.#endedInCr = all.endsWith('\r');
    else this.#keep(all.slice(from));
    return frames;
  }

  /** Characters after the last whole frame. */
  get length(): number {
    return this.#length;
  }

  /** What is left after the last whole frame. */
  get rest(): string {
    return this.#pieces.join('');
  }

  /** What there is of the unfinished frame is taken out of it; its rest is read as a frame of its own. */
  takeBegun(): void {
    this.#forget();
    this.#keep(COMMENT);
  }

  #forget(): void {
    this.#pieces = [];
    this.#length = 0;
    this.#tail = '';
  }

  #keep(text: string): void {
    this.#pieces.push(text);
    this.#length += text.length;
    this.#tail = (this.#tail + text.slice(-LONGEST_BLANK_LINE)).slice(-LONGEST_BLANK_LINE);
    if (this.#length > MAX_ANSWER_BYTES)
      throw new Error(`an event of the upstream stream is larger than ${MAX_ANSWER_BYTES >> 20} MiB`);
  }
}

/** Finds blank lines of a text, one after the other: what lies before one is never looked at again. */
class FrameEnds {
  readonly #text: string;
  readonly #hasCr: boolean;
  /** No blank line is left before. */
  #searched = 0;
  readonly #blankLine = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)/g;

  constructor(text: string) {
    this.#text = text;
    this.#hasCr = text.includes('\r');
  }

  /**
   * Index after the frames from here on that say nothing, being but comments and line ends. They are read as one, so that
   * a stream of nothing else costs little.
   */
  silentAfter(from: number): number {
    const text = this.#text;
    let end = from;
    let at = from;
    for (let inComment = false; at < text.length; at++) {
      const c = text.charCodeAt(at);
      if (c === LF || c === CR) {
        // The LF of a CRLF belongs to the comment that its CR ends.
        if (inComment && c === CR && text.charCodeAt(at + 1) === LF) at++;
        // At the beginning of a line, each line end is an empty line.
        if (!inComment) end = at + 1;
        inComment = false;
      } else if (c === COLON) inComment = true;
      else if (!inComment) break;
    }
    this.#searched = at;
    return end;
  }

  /** Index after the next blank line, -1 without one. Lines end with LF, CRLF or CR, in one stream too. */
  after(from: number): number {
    const start = Math.max(from, this.#searched);
    if (this.#hasCr) {
      this.#blankLine.lastIndex = start;
      return this.#blankLine.test(this.#text) ? this.#blankLine.lastIndex : -1;
    }
    const at = this.#text.indexOf('\n\n', start);
    return at === -1 ? -1 : at + 2;
  }
}

const silence = (raw: string): Frame => ({ raw, data: undefined, id: undefined, event: undefined, retry: undefined });

/** Reads the fields of one frame. */
export function readFrame(raw: string): Frame {
  let data: string | undefined;
  let id: string | undefined;
  let event: string | undefined;
  let retry: number | undefined;
  const hasCr = raw.includes('\r');
  for (let at = 0, next = 0; at < raw.length; at = next) {
    let end = raw.length;
    if (hasCr) {
      LINE_END.lastIndex = at;
      next = LINE_END.test(raw) ? LINE_END.lastIndex : raw.length + 1;
      end = next - 1;
      if (raw.charCodeAt(end) === LF && end > at && raw.charCodeAt(end - 1) === CR) end--;
    } else {
      const lf = raw.indexOf('\n', at);
      if (lf !== -1) end = lf;
      next = end + 1;
    }
    // Comments have no name before their colon, and empty lines nothing at all.
    if (end === at || raw.charCodeAt(at) === COLON) continue;
    const line = raw.slice(at, end);
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line.charAt(colon + 1) === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') data = data === undefined ? value : `${data}\n${value}`;
    else if (field === 'id') id = value;
    else if (field === 'event') event = value;
    else if (field === 'retry' && DIGITS.test(value)) retry = Number(value);
  }
  return { raw, data, id, event, retry };
}

const LINE_END = /\r\n|\n|\r/g;
const DIGITS = /^\d+$/;

/** A frame of our own. Without an id, so that the client's resumption cursor stays the upstream's. */
export function messageFrame(data: string, id?: string): string {
  return `event: message\n${id === undefined ? '' : `id: ${id}\n`}data: ${data.replaceAll('\n', '\ndata: ')}\n\n`;
}
