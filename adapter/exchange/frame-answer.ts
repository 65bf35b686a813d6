import { AdapterError, upstreamNotJson } from '../errors.ts';
import type { ResponseHead } from '../upstream/upstream.ts';
import { noteAnswer } from './answer-watch.ts';
import { MAX_HELD_CHARS, MAX_HELD_FRAMES, UNCOUNTED_BYTES } from './answer-limits.ts';
import type { StreamedAnswer } from './answer.ts';
import type { AwaitedResponses } from './awaited-responses.ts';
import { saysListChanged } from './list-changed.ts';
import { responseIds } from './message.ts';
import { beginsOwnResponse } from './own-response.ts';
import type { Plan } from './plan.ts';
import { asData, type Frame, FrameSplitter, openFrame, withData } from './sse-frames.ts';
import type { Part } from './stream-answer.ts';

/** A frame that grows larger is not kept in memory where nobody wants to see it. */
const LARGE_FRAME_CHARS = 256 << 10;
const TOO_MUCH_BEFORE_HEAD = 'The upstream server sent more than 1 MiB or 100 messages before its answer.';
const FRAME_TAIL = Buffer.from('\n\n');
const LIKE_A_MESSAGE = /^\s*[[{]/;

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
  /** Writes these bytes and all that follow them, without reading them. */
  passFrom(begun: Buffer): void;
}

/** An answer on an event stream whose messages somebody wants to see, frame by frame. */
export class FrameAnswer {
  readonly #plan: Plan;
  readonly #head: ResponseHead;
  readonly #reply: FrameReply;
  readonly #awaited: AwaitedResponses;
  /** Undefined once the rest passes without being read. */
  #splitter: FrameSplitter | undefined = new FrameSplitter();
  /** Frames that wait for the head. */
  #held = '';
  #heldFrames = 0;
  /** Of what is kept more is counted than nothing. */
  #isCounted = false;
  /** It was found out whether the large frame that has begun may pass as it comes. */
  #isLargeKnown = false;

  constructor(plan: Plan, head: ResponseHead, reply: FrameReply, awaited: AwaitedResponses) {
    this.#plan = plan;
    this.#head = head;
    this.#reply = reply;
    this.#awaited = awaited;
  }

  async push(chunk: Buffer): Promise<void> {
    if (this.#reply.isDone()) return;
    // It was queued while a frame before it began to pass.
    if (this.#splitter === undefined) return this.#reply.passFrom(chunk);
    const frames = this.#splitter.push(chunk);
    for (const frame of frames) {
      await this.#passFrame(frame);
      if (this.#reply.isDone()) return;
    }
    if (this.#splitter.length > LARGE_FRAME_CHARS) this.#passLarge(chunk);
    const kept = (this.#splitter?.length ?? 0) + this.#held.length;
    if (kept > UNCOUNTED_BYTES || this.#isCounted) this.#isCounted = this.#reply.count(kept);
  }

  /** Writes what has not left, up to an unfinished frame: nothing more comes. */
  end(): void {
    this.#reply.writeStreamHead();
    const rest = this.#takeHeld() + (this.#splitter?.rest ?? '');
    if (rest !== '') this.#reply.write(Buffer.from(rest));
  }

  /** A large answer that nobody wants to see is not kept in memory; but it must be the answer. */
  #passLarge(chunk: Buffer): void {
    const { onResponse, onAnswered, idTexts } = this.#plan;
    // What has been decoded of it must not end within a character.
    const endsWhole = (chunk.at(-1) ?? 0) < 0x80;
    if (onResponse !== undefined || onAnswered !== undefined || this.#isLargeKnown || !endsWhole) return;
    this.#isLargeKnown = true;
    const { rest = '' } = this.#splitter ?? {};
    if (!beginsOwnResponse(rest.slice(0, LARGE_FRAME_CHARS), idTexts)) return;
    this.#splitter = undefined;
    this.#reply.passFrom(Buffer.from(rest));
  }

  async #passFrame(frame: Frame): Promise<void> {
    if (frame.id !== undefined) this.#awaited.isResumable = true;
    let out = frame.raw;
    const { data } = frame;
    if (data !== undefined && saysListChanged(data)) await this.#plan.onListChanged?.();
    // Clients take no other events for messages.
    const isMessage = frame.event === undefined || frame.event === '' || frame.event === 'message';
    const ids = data !== undefined && isMessage ? this.#responseIds(data) : [];
    if (data !== undefined && this.#awaited.see(ids)) {
      const answer = await this.#plan.onResponse?.(data, this.#head);
      if (typeof answer === 'object') return this.#passParts(frame, answer);
      const { noted } = this.#plan;
      if (noted !== undefined) {
        noteAnswer(noted, answer ?? data);
        if (this.#awaited.isSeen) noted.isAnswered = true;
      }
      if (answer !== undefined && answer !== data) out = withData(frame, answer);
      if (this.#awaited.isSeen) await this.#plan.onAnswered?.();
      if (this.#reply.isDone()) return;
      this.#reply.writeStreamHead();
    } else if (data !== undefined && this.#plan.onStray !== undefined && ids.length > 0) {
      const shown = await this.#plan.onStray(data);
      if (this.#reply.isDone()) return;
      if (shown !== data) out = withData(frame, shown);
    }
    // Messages before the response wait for it only while the head does.
    if (this.#plan.reply.headersSent) this.#reply.write(Buffer.from(this.#takeHeld() + out));
    else if (this.#heldFrames++ < MAX_HELD_FRAMES && this.#held.length + out.length <= MAX_HELD_CHARS)
      this.#held += out;
    else throw new AdapterError('upstream_failed', TOO_MUCH_BEFORE_HEAD);
    this.#awaited.answerSeen();
  }

  /** A frame whose data comes in parts. */
  async #passParts(frame: Frame, answer: StreamedAnswer): Promise<void> {
    if (this.#reply.isDone()) return;
    this.#reply.writeStreamHead();
    this.#reply.write(Buffer.from(this.#takeHeld() + openFrame(frame)));
    const last = await this.#reply.sendParts(answer, asData);
    if (last === undefined) return;
    this.#reply.write(last);
    if (this.#awaited.isSeen) await this.#plan.onAnswered?.();
    if (this.#plan.noted !== undefined && this.#awaited.isSeen) this.#plan.noted.isAnswered = true;
    this.#reply.endParts(FRAME_TAIL);
    this.#awaited.answerSeen();
  }

  #takeHeld(): string {
    const held = this.#held;
    this.#held = '';
    return held;
  }

  /** Ids of the responses in a message, where somebody asks for them. */
  #responseIds(data: string): readonly (string | number)[] {
    const { onResponse, onStray } = this.#plan;
    if (!this.#awaited.isOpen && onStray === undefined) return [];
    const ids = responseIds(data);
    // Some clients read more than JSON, such as NaN: what cannot be worked on must not reach them as it is.
    if (ids === undefined && (onResponse ?? onStray) !== undefined && LIKE_A_MESSAGE.test(data)) {
      throw upstreamNotJson();
    }
    return ids ?? [];
  }
}
