import { ANSWER_LIMITS, JsonLimitError } from '../../lib/json/json-limits.ts';
import { AdapterError, upstreamNotJson } from '../errors.ts';
import type { ResponseHead } from '../upstream/upstream.ts';
import { noteAnswer } from './answer-watch.ts';
import type { StreamedAnswer } from './answer.ts';
import type { AwaitedResponses } from './awaited-responses.ts';
import { EnvelopeScan } from './envelope-scan.ts';
import { asEventData, EventBytes, eventText, isMessageEvent, openEvent, positionFields } from './event-text.ts';
import { LargeFrame } from './large-frame.ts';
import { saysListChanged } from './list-changed.ts';
import type { Plan } from './plan.ts';
import type { Refusal } from './refusal.ts';
import { withoutReserved } from './reserved-meta.ts';
import { type Frame, FrameSplitter } from './sse-frames.ts';
import type { Part } from './stream-answer.ts';
import { LARGE_FRAME_CHARS, MAX_HELD_CHARS, MAX_HELD_FRAMES, UNCOUNTED_BYTES } from '../limits.ts';

const TOO_MUCH_BEFORE_HEAD = 'The upstream server sent more than 1 MiB or 100 messages before its answer.';
const FRAME_TAIL = Buffer.from('\n\n');

/** The client's side of the exchange whose frames they are. */
export interface FrameReply {
  /** Whether the exchange is over; nothing more is written. */
  isDone(): boolean;
  /** Writes the head, unless it has left. */
  writeStreamHead(): void;
  write(chunk: Part): void;
  /** Writes an answer up to its last part, which it returns. Undefined: the exchange is over. */
  sendParts(answer: StreamedAnswer, encode: (part: Part) => Part): Promise<Part | undefined>;
  /** Counts what is kept, in bytes. False: there is no room for it, and the exchange is over. */
  count(bytes: number): boolean;
  /** Writes what stands after an answer in parts; others may follow. */
  endParts(tail: Part): void;
  /** Ends the exchange in the middle of a message that must not become whole. */
  breakOff(refusal: Refusal): void;
}

/**
 * An answer on an event stream, frame by frame. What leaves is written anew, and is a request, a notification, or a response
 * that was waited for or looked at; the rest is dropped.
 */
export class FrameAnswer {
  readonly #plan: Plan;
  readonly #head: ResponseHead;
  readonly #reply: FrameReply;
  readonly #awaited: AwaitedResponses;
  readonly #splitter = new FrameSplitter();
  /** Frames that wait for the head. */
  #held = '';
  #heldFrames = 0;
  /** Of what is kept more is counted than nothing. */
  #isCounted = false;
  /** It was found out whether the large frame that has begun may pass as it comes. */
  #isLargeKnown = false;
  /** A frame of which a part has left. */
  #large: LargeFrame | undefined;

  constructor(plan: Plan, head: ResponseHead, reply: FrameReply, awaited: AwaitedResponses) {
    this.#plan = plan;
    this.#head = head;
    this.#reply = reply;
    this.#awaited = awaited;
  }

  push(chunk: Buffer): void | Promise<void> {
    if (this.#reply.isDone()) return;
    const rest = this.#large === undefined || this.#large.isRead ? chunk : this.#passOfLarge(this.#large, chunk);
    if (rest !== undefined) return this.#passFrames(this.#splitter.push(rest), 0, rest);
  }

  /** Nothing more comes; an unfinished frame is none. */
  end(): void {
    this.#reply.writeStreamHead();
    const held = this.#takeHeld();
    if (held !== '') this.#reply.write(Buffer.from(held));
  }

  #passFrames(frames: readonly Frame[], from: number, chunk: Buffer): void | Promise<void> {
    for (let i = from; i < frames.length; i++) {
      const pending = this.#passFrame(frames[i] as Frame);
      if (pending !== undefined) return pending.then(() => this.#passFrames(frames, i + 1, chunk));
      if (this.#reply.isDone()) return;
    }
    if (this.#reply.isDone()) return;
    if (this.#splitter.length > LARGE_FRAME_CHARS && !this.#isLargeKnown) this.#beginLarge(chunk);
    const kept = this.#splitter.length + this.#held.length;
    if (kept > UNCOUNTED_BYTES || this.#isCounted) this.#isCounted = this.#reply.count(kept);
  }

  #passFrame(frame: Frame): void | Promise<void> {
    this.#isLargeKnown = false;
    if (frame.id !== undefined) this.#awaited.isResumable = true;
    if (this.#large !== undefined) return this.#endLarge(this.#large, frame);
    const { data, event } = frame;
    // An event without data tells where the stream is, or only that it is there.
    if (data === undefined || data === '') return this.#write(eventText(frame, data));
    // Event stores of the TypeScript SDK keep such a one for the first id of a stream.
    if (data === '{}') return this.#write(eventText(frame, ''));
    if (!isMessageEvent(event)) return this.#plan.dropped('event');
    const scan = new EnvelopeScan();
    scan.push(data);
    const safe = asEventData(data);
    if (scan.problem !== undefined) return this.#plan.dropped(scan.problem);
    if (safe === undefined || !scan.isComplete) return this.#plan.dropped('malformed');
    if (scan.isArray && !this.#plan.takesArrays) return this.#plan.dropped('kind');
    const text = scan.reserved === undefined ? safe : withoutReserved(safe);
    const changed = scan.hasOther && saysListChanged(text) ? this.#plan.onListChanged?.() : undefined;
    if (changed === undefined) return this.#passMessage(frame, scan, text);
    return changed.then(() => this.#passMessage(frame, scan, text));
  }

  #passMessage(frame: Frame, scan: EnvelopeScan, text: string): void | Promise<void> {
    if (!scan.isResponse) return this.#write(eventText(frame, text));
    // What is worked on together belongs together.
    if (scan.ids.length > 1 && this.#awaited.isMixed(scan.ids)) return this.#plan.dropped('unasked');
    const { onResponse, onAnswered, onStray } = this.#plan;
    const isAwaited = this.#awaited.see(scan.ids);
    if (!isAwaited && onStray === undefined) return this.#plan.dropped('unasked');
    if (isAwaited && onResponse === undefined && onAnswered === undefined) return this.#passAnswer(frame, text);
    const exceeded = scan.exceeded(ANSWER_LIMITS);
    if (exceeded !== undefined) throw new JsonLimitError(exceeded, ANSWER_LIMITS);
    return isAwaited ? this.#workOn(frame, text) : this.#passStray(frame, text);
  }

  async #workOn(frame: Frame, text: string): Promise<void> {
    const answer = (await this.#plan.onResponse?.(text, this.#head)) ?? text;
    if (typeof answer === 'object') return this.#passParts(frame, answer);
    if (this.#awaited.isSeen) await this.#plan.onAnswered?.();
    if (!this.#reply.isDone()) this.#passAnswer(frame, answer === text ? text : safely(answer));
  }

  #passAnswer(frame: Frame, text: string): void {
    this.#note(text);
    this.#reply.writeStreamHead();
    this.#write(eventText(frame, text));
  }

  async #passStray(frame: Frame, text: string): Promise<void> {
    const shown = (await this.#plan.onStray?.(text)) ?? text;
    if (!this.#reply.isDone()) this.#write(eventText(frame, shown === text ? text : safely(shown)));
  }

  /** A frame whose data comes in parts. */
  async #passParts(frame: Frame, answer: StreamedAnswer): Promise<void> {
    if (this.#reply.isDone()) return;
    this.#reply.writeStreamHead();
    this.#reply.write(Buffer.from(this.#takeHeld() + openEvent(frame)));
    const last = await this.#reply.sendParts(answer, new EventBytes().push);
    if (last === undefined) return;
    this.#reply.write(last);
    if (this.#awaited.isSeen) await this.#plan.onAnswered?.();
    if (this.#plan.noted !== undefined && this.#awaited.isSeen) this.#plan.noted.isAnswered = true;
    this.#reply.endParts(FRAME_TAIL);
    this.#awaited.answerSeen();
  }

  /** A large answer that nobody wants to see is not kept in memory; but it must be the answer. */
  #beginLarge(chunk: Buffer): void {
    const { onResponse, onAnswered, noted } = this.#plan;
    // What has been decoded of it must not end within a character.
    const endsWhole = (chunk.at(-1) ?? 0) < 0x80;
    if (onResponse !== undefined || onAnswered !== undefined || !endsWhole) return;
    this.#isLargeKnown = true;
    const large = LargeFrame.begin(this.#splitter.rest, (id) => this.#awaited.awaits(id), noted);
    if (large === undefined) return;
    this.#large = large;
    this.#splitter.takeBegun();
    if (large.frame.id !== undefined) this.#awaited.isResumable = true;
    this.#reply.writeStreamHead();
    this.#reply.write(Buffer.from(this.#takeHeld() + openEvent(large.frame)));
    this.#reply.write(large.begun);
  }

  /** What is left of the chunk behind the data of the frame; undefined when there is nothing. */
  #passOfLarge(large: LargeFrame, chunk: Buffer): Buffer | undefined {
    const part = large.push(chunk);
    if (typeof part === 'string') {
      this.#reply.breakOff(part);
      return undefined;
    }
    if (part.length > 0) this.#reply.write(part);
    return large.rest;
  }

  /** @param tail the fields behind its data */
  #endLarge(large: LargeFrame, tail: Frame): void {
    if (tail.data !== undefined) return this.#reply.breakOff('malformed');
    this.#large = undefined;
    this.#awaited.see(large.ids);
    if (this.#plan.noted !== undefined && this.#awaited.isSeen) this.#plan.noted.isAnswered = true;
    this.#reply.write(Buffer.from(`\n${positionFields(tail)}\n`));
    this.#awaited.answerSeen();
  }

  #note(answer: string): void {
    const { noted } = this.#plan;
    if (noted === undefined) return;
    noteAnswer(noted, answer);
    if (this.#awaited.isSeen) noted.isAnswered = true;
  }

  #write(out: string): void {
    if (out === '') return;
    // Messages before the response wait for it only while the head does.
    if (this.#plan.reply.headersSent) this.#reply.write(Buffer.from(this.#held === '' ? out : this.#takeHeld() + out));
    else if (this.#heldFrames++ < MAX_HELD_FRAMES && this.#held.length + out.length <= MAX_HELD_CHARS)
      this.#held += out;
    else throw new AdapterError('upstream_failed', TOO_MUCH_BEFORE_HEAD);
    this.#awaited.answerSeen();
  }

  #takeHeld(): string {
    const held = this.#held;
    this.#held = '';
    return held;
  }
}

/** What the adapter has made of an answer. */
function safely(text: string): string {
  const safe = asEventData(text);
  if (safe === undefined) throw upstreamNotJson();
  return safe;
}
