/**
 * Event-stream frames (HTML standard, section 9.2.6), split without changing a byte, so that a frame that nobody
 * has to change leaves as it came, its `id`, `event` and `retry` lines included.
 */
export interface Frame {
  /** The frame with its closing blank line. */
  readonly raw: string;
  /** The joined `data` lines; undefined when there are none (comments). */
  readonly data: string | undefined;
  readonly id: string | undefined;
  readonly event: string | undefined;
}

const MAX_FRAME_CHARS = 64 << 20;

/** Splits a stream of decoded text into frames; keeps the unfinished rest. */
export class FrameSplitter {
  #rest = '';
  /** Up to here the rest holds no end of a frame. */
  #searched = 0;
  /** The last frame ended with a CR, which the LF that follows belongs to. */
  #endedInCr = false;
  #decoder = new TextDecoder();

  /** The frames that end within this chunk. Throws when a single frame grows past 64 Mi characters. */
  push(chunk: Uint8Array): Frame[] {
    const frames: Frame[] = [];
    this.#rest += this.#decoder.decode(chunk, { stream: true });
    if (this.#rest === '') return frames;
    if (this.#endedInCr && this.#rest.startsWith('\n')) {
      frames.push(readFrame('\n'));
      this.#rest = this.#rest.slice(1);
    }
    this.#endedInCr = false;
    for (;;) {
      const end = frameEnd(this.#rest, this.#searched);
      if (end === -1) break;
      frames.push(readFrame(this.#rest.slice(0, end)));
      this.#endedInCr = end === this.#rest.length && this.#rest.endsWith('\r');
      this.#rest = this.#rest.slice(end);
      this.#searched = 0;
    }
    this.#searched = Math.max(0, this.#rest.length - 3);
    if (this.#rest.length > MAX_FRAME_CHARS) throw new Error('an event of the upstream stream is larger than 64 MiB');
    return frames;
  }

  /** What is left after the last whole frame. */
  get rest(): string {
    return this.#rest;
  }
}

/** Index after the first blank line. Lines end with LF, CRLF or CR, in one stream too. */
function frameEnd(text: string, from: number): number {
  if (!text.includes('\r', from)) {
    const lf = text.indexOf('\n\n', from);
    return lf === -1 ? -1 : lf + 2;
  }
  const blankLine = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)/g;
  blankLine.lastIndex = from;
  return blankLine.test(text) ? blankLine.lastIndex : -1;
}

/** Reads the fields of one frame. */
export function readFrame(raw: string): Frame {
  let data: string | undefined;
  let id: string | undefined;
  let event: string | undefined;
  for (const line of raw.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line.charAt(colon + 1) === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') data = data === undefined ? value : `${data}\n${value}`;
    else if (field === 'id') id = value;
    else if (field === 'event') event = value;
  }
  return { raw, data, id, event };
}

/** The same frame with other data: all its other lines stay. */
export function withData(frame: Frame, data: string): string {
  const others = frame.raw.split(/\r\n|\n|\r/).filter((line) => line !== '' && !/^data(:|$)/.test(line));
  const lines = data.split('\n').map((line) => `data: ${line}`);
  return [...others, ...lines].join('\n') + '\n\n';
}

/** A frame of our own. Without an id, so that the client's resumption cursor stays the upstream's. */
export function messageFrame(data: string, id?: string): string {
  return `event: message\n${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`;
}
