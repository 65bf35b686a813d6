import { EnvelopeScan } from '../scanning/envelope-scan.ts';
import { EventBytes, isMessageEvent, isNotOfJson } from './event-text.ts';
import type { Refusal } from '../scanning/refusal.ts';
import { renameReserved } from '../scanning/reserved-meta.ts';
import { type Frame, readFrame } from '../scanning/sse-frames.ts';

const DATA = 'data:';
const LF = 0x0a;
const CR = 0x0d;
const NOTHING = Buffer.alloc(0);

/** A frame with an awaited response on one line that leaves while it comes, as long as it obeys the rule for messages. */
export class LargeFrame {
  /** Its fields before the data. */
  readonly frame: Frame;
  /** Of the data, as it may leave. */
  readonly begun: Buffer;
  /** What stands in the chunk that was pushed last behind the data, from its line end on; undefined: the data goes on. */
  rest: Buffer | undefined;
  readonly #scan: EnvelopeScan;
  readonly #bytes = new EventBytes();

  private constructor(frame: Frame, begun: Buffer, scan: EnvelopeScan) {
    this.frame = frame;
    this.#scan = scan;
    this.begun = this.#leaving(begun);
  }

  /** Undefined: it has to be read as a whole. `text` is what there is of the frame, `awaits` says of which responses it may be. */
  static begin(text: string, awaits: (id: string | number) => boolean): LargeFrame | undefined {
    const line = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1;
    const frame = readFrame(text.slice(0, line));
    if (frame.data !== undefined || !isMessageEvent(frame.event) || !text.startsWith(DATA, line)) return undefined;
    const value = line + DATA.length;
    const begun = Buffer.from(text.slice(text.charAt(value) === ' ' ? value + 1 : value));
    const scan = new EnvelopeScan(true);
    const bytes = begun.toString('latin1');
    scan.push(bytes);
    const id = scan.begunId;
    const isFit = id !== undefined && awaits(id) && scan.problem === undefined && scan.reserved === undefined;
    return isFit && !isNotOfJson(bytes) ? new LargeFrame(frame, begun, scan) : undefined;
  }

  /** The whole of the data has come. */
  get isRead(): boolean {
    return this.rest !== undefined;
  }

  get ids(): readonly (string | number)[] {
    return this.#scan.ids;
  }

  /** What may leave of it, or why it must not become whole. */
  push(chunk: Buffer): Buffer | Refusal {
    const end = lineEnd(chunk);
    const part = end === -1 ? chunk : chunk.subarray(0, end);
    const bytes = part.toString('latin1');
    this.#scan.push(bytes);
    if (this.#scan.problem !== undefined) return this.#scan.problem;
    if (isNotOfJson(bytes)) return 'malformed';
    for (const { start, end: after } of this.#scan.reserved ?? []) renameReserved(part, start, after);
    if (end !== -1) {
      if (!this.#scan.isComplete) return 'malformed';
      this.rest = chunk.subarray(end);
    }
    return this.#leaving(part);
  }

  #leaving(part: Buffer): Buffer {
    if (part.length === 0) return NOTHING;
    const data = this.#bytes.push(part);
    return typeof data === 'string' ? Buffer.from(data, 'latin1') : data;
  }
}

function lineEnd(chunk: Buffer): number {
  const lf = chunk.indexOf(LF);
  const cr = (lf === -1 ? chunk : chunk.subarray(0, lf)).indexOf(CR);
  return cr === -1 ? lf : cr;
}
