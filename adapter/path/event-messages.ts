import { EnvelopeScan } from '../exchange/scanning/envelope-scan.ts';
import { asEventData, isMessageEvent, positionFields } from '../exchange/answers/event-text.ts';
import { LargeFrame } from '../exchange/answers/large-frame.ts';
import type { Refusal } from '../exchange/scanning/refusal.ts';
import { withoutReserved } from '../exchange/scanning/reserved-meta.ts';
import { type Frame, FrameSplitter } from '../exchange/scanning/sse-frames.ts';
import { LARGE_FRAME_CHARS, UNCOUNTED_BYTES } from '../limits.ts';
import type { BodyReader, Reading } from './reading.ts';
import { ReplyMessage } from './reply-message.ts';

/**
 * An answer on an event stream, frame by frame. What becomes a message is a request, a notification, or a response that was
 * waited for or may be taken from any stream; the rest is dropped.
 */
export class EventMessages implements BodyReader {
  readonly #reading: Reading;
  readonly #splitter = new FrameSplitter();
  /** Of what is kept more is counted than nothing. */
  #isCounted = false;
  /** It was found out whether the large frame that has begun may pass as it comes. */
  #isLargeKnown = false;
  /** A frame of which a part has left. */
  #large: LargeFrame | undefined;

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  push(chunk: Buffer): Promise<void> | undefined {
    if (this.#reading.isOver) return undefined;
    const rest = this.#large === undefined || this.#large.isRead ? chunk : this.#passOfLarge(this.#large, chunk);
    return rest === undefined ? undefined : this.#passFrames(this.#splitter.push(rest), 0, rest);
  }

  /** An unfinished frame is none. */
  end(): Promise<void> | undefined {
    const { isWaitedFor, isResumable } = this.#reading.operation.awaited;
    // The client would wait for it until its patience ends.
    if (isWaitedFor && !isResumable) return this.#reading.broke(new Error('the stream ended without it'), true);
    return this.#reading.finish('ok');
  }

  #passFrames(frames: readonly Frame[], from: number, chunk: Buffer): Promise<void> | undefined {
    const reading = this.#reading;
    for (let i = from; i < frames.length; i++) {
      const pending = this.#passFrame(frames[i] as Frame);
      if (pending !== undefined) return pending.then(() => this.#passFrames(frames, i + 1, chunk));
      if (reading.isOver) return undefined;
    }
    if (reading.isOver) return undefined;
    if (this.#splitter.length > LARGE_FRAME_CHARS && !this.#isLargeKnown) this.#beginLarge(chunk);
    const kept = this.#splitter.length;
    if (kept > UNCOUNTED_BYTES || this.#isCounted) this.#isCounted = reading.count(kept);
    return undefined;
  }

  #passFrame(frame: Frame): Promise<void> | undefined {
    const reading = this.#reading;
    const { operation } = reading;
    this.#isLargeKnown = false;
    if (frame.id !== undefined) operation.awaited.isResumable = true;
    if (this.#large !== undefined) return this.#endLarge(this.#large, frame);
    const { data, event } = frame;
    // An event without data tells where the stream is, or only that it is there; event stores of the TypeScript SDK keep `{}` for
    // the first id of a stream.
    if (data === undefined || data === '' || data === '{}') {
      return reading.message(new ReplyMessage('other', '', { frame: data === '{}' ? { ...frame, data: '' } : frame }));
    }
    if (!isMessageEvent(event)) return this.#drop('event');
    const scan = new EnvelopeScan();
    scan.push(data);
    const safe = asEventData(data);
    if (scan.problem !== undefined) return this.#drop(scan.problem);
    if (safe === undefined || !scan.isComplete) return this.#drop('malformed');
    if (scan.isArray && !operation.takesUnsolicited) return this.#drop('kind');
    const text = scan.reserved === undefined ? safe : withoutReserved(safe);
    if (!scan.isResponse) return reading.message(new ReplyMessage('other', text, { frame, scan }));
    // What is worked on together belongs together.
    if (scan.ids.length > 1 && operation.awaited.isMixed(scan.ids)) return this.#drop('unasked');
    const isAwaited = operation.awaited.see(scan.ids);
    if (!isAwaited && !operation.takesUnsolicited) return this.#drop('unasked');
    return reading.message(new ReplyMessage(isAwaited ? 'response' : 'unsolicited', text, { frame, scan }));
  }

  #drop(refusal: Refusal): undefined {
    this.#reading.dropped(refusal);
  }

  /** A large answer that nobody wants to see is not kept in memory; but it must be the answer. */
  #beginLarge(chunk: Buffer): void {
    const reading = this.#reading;
    const { awaited } = reading.operation;
    // What has been decoded of it must not end within a character.
    const endsWhole = (chunk.at(-1) ?? 0) < 0x80;
    if (reading.reads || !endsWhole) return;
    this.#isLargeKnown = true;
    const large = LargeFrame.begin(this.#splitter.rest, (id) => awaited.awaits(id));
    if (large === undefined) return;
    this.#large = large;
    this.#splitter.takeBegun();
    if (large.frame.id !== undefined) awaited.isResumable = true;
    void reading.message(new ReplyMessage('response', [large.begun], { frame: large.frame, isOpen: true }));
  }

  /** What is left of the chunk behind the data of the frame; undefined when there is nothing. */
  #passOfLarge(large: LargeFrame, chunk: Buffer): Buffer | undefined {
    const part = large.push(chunk);
    if (typeof part === 'string') {
      this.#reading.breakOff(part);
      return undefined;
    }
    if (part.length > 0) void this.#reading.data(part, false);
    return large.rest;
  }

  /** @param tail the fields behind its data */
  #endLarge(large: LargeFrame, tail: Frame): Promise<void> | undefined {
    if (tail.data !== undefined) {
      this.#reading.breakOff('malformed');
      return undefined;
    }
    this.#large = undefined;
    this.#reading.operation.awaited.see(large.ids);
    return this.#reading.data(Buffer.from(`\n${positionFields(tail)}\n`), true);
  }
}
