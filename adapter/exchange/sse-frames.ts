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

  /** The frames that end within this chunk. Throws when a single frame grows past 64 Mi characters. */
  push(chunk: Uint8Array): Frame[] {
    const frames: Frame[] = [];
    let text = this.#decoder.decode(chunk, { stream: true });
    if (text === '') return frames;
    if (this.#endedInCr && text.startsWith('\n')) {
      frames.push(readFrame('\n'));
      text = text.slice(1);
    }
    this.#endedInCr = false;
    while (text !== '') {
      const end = frameEnd(this.#tail + text) - this.#tail.length;
      if (end < 0) {
        this.#keep(text);
        break;
      }
      frames.push(readFrame(this.rest + text.slice(0, end)));
      this.#endedInCr = end === text.length && text.endsWith('\r');
      text = text.slice(end);
      this.#pieces = [];
      this.#length = 0;
      this.#tail = '';
    }
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

  #keep(text: string): void {
    this.#pieces.push(text);
    this.#length += text.length;
    this.#tail = (this.#tail + text.slice(-LONGEST_BLANK_LINE)).slice(-LONGEST_BLANK_LINE);
    if (this.#length > MAX_FRAME_CHARS) throw new Error('an event of the upstream stream is larger than 64 MiB');
  }
}

/** Index after the first blank line, -1 without one. Lines end with LF, CRLF or CR, in one stream too. */
function frameEnd(text: string): number {
  const lf = text.indexOf('\n\n');
  const before = lf === -1 ? text : text.slice(0, lf + 1);
  if (!before.includes('\r')) return lf === -1 ? -1 : lf + 2;
  const blankLine = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)/.exec(text);
  return blankLine === null ? -1 : blankLine.index + blankLine[0].length;
}

/** Whether a line with an event id begins in these bytes of a stream; one that they cut is not seen. */
export function mentionsEventId(chunk: Buffer): boolean {
  return (chunk[0] === 0x69 && chunk[1] === 0x64 && chunk[2] === 0x3a) || chunk.includes('\nid:');
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
  return `${openFrame(frame)}${data.replaceAll('\n', '\ndata: ')}\n\n`;
}

/** The same frame up to its data, which follows in parts (`asData`) and ends with two line feeds. */
export function openFrame(frame: Frame): string {
  const others = frame.raw.split(/\r\n|\n|\r/).filter((line) => line !== '' && !/^data(:|$)/.test(line));
  return [...others, 'data: '].join('\n');
}

/** A part of a frame's data. The same where no line ends within it. */
export function asData(part: Buffer | string): Buffer | string {
  if (!part.includes('\n')) return part;
  const text = typeof part === 'string' ? part : part.toString('latin1');
  return Buffer.from(text.replaceAll('\n', '\ndata: '), 'latin1');
}

/** A frame of our own. Without an id, so that the client's resumption cursor stays the upstream's. */
export function messageFrame(data: string, id?: string): string {
  return `event: message\n${id === undefined ? '' : `id: ${id}\n`}data: ${data.replaceAll('\n', '\ndata: ')}\n\n`;
}
