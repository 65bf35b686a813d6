import type { Refusal } from '../exchange/scanning/refusal.ts';
import type { ResponseHead } from '../exchange/upstream.ts';
import type { Ending, Outcome } from './ending.ts';
import type { Operation } from './operation.ts';
import type { ReplyMessage } from './reply-message.ts';

/** Who reads one kind of body. */
export interface BodyReader {
  push(chunk: Buffer): Promise<void> | undefined | void;
  /** Nothing more comes. */
  end(): Promise<void> | undefined | void;
}

/** What a reader of a body works on. */
export interface Reading {
  readonly operation: Operation;
  readonly head: ResponseHead;
  /** Whether the operation is over; nothing more is said. */
  readonly isOver: boolean;
  /** Whether somebody reads the responses. */
  readonly reads: boolean;
  /** Tells of what does not pass, where the rest may. */
  dropped(refusal: Refusal): void;
  /** Counts what is kept of the answer, in bytes. False: there is no room for it, and the operation is over. */
  count(bytes: number): boolean;
  message(message: ReplyMessage): Promise<void> | undefined;
  data(chunk: Buffer, isLast: boolean): Promise<void> | undefined;
  /** The whole answer does not pass: the client gets an error, or nothing where it does not wait for anything. */
  refuse(refusal: Refusal): void;
  /** Ends the operation in the middle of a message that must not become whole. */
  breakOff(refusal: Refusal): void;
  finish(outcome: Outcome): Promise<void> | undefined;
  /** The upstream has broken off. A client that can resume the stream does so; others get an error. */
  broke(error: Error, sent: boolean): Promise<void> | undefined;
  abort(ending: Ending): void;
}
