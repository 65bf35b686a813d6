import type { ResponseHead } from '../exchange/upstream.ts';
import type { Ending } from './ending.ts';
import type { ReplyMessage } from './reply-message.ts';

/** What whoever gets a reply may do to the operation while it runs. */
export interface ReplyControl {
  /** Holds the upstream's data back, until `resume` was called as often. */
  pause(): void;
  resume(): void;
  /** Gives the operation up: it ends with this, unless it has ended. */
  abort(ending: Ending): void;
}

/**
 * Where the reply to an operation goes, in this order:
 *
 *     start ─▶ head ─▶ message* ─▶ end
 *        └──────┴──────────┴─────▶ end
 *
 * A message that is open is followed by its `data`, up to the last of it. What `message`, `data` and `end` return is awaited
 * before anything else is said.
 */
export interface Reply {
  /** Somebody wants to read the responses; otherwise large ones pass while they come. */
  readonly reads: boolean;
  /** Aborted, with an AdapterError, once nobody waits for the reply any more. */
  readonly signal: AbortSignal;
  /** The same at this moment. */
  readonly isGone: boolean;
  /** Runs once the answer has left, or the client has. */
  afterwards(run: () => void): void;
  /** The upstream is asked. Called again when it is asked again. */
  start(control: ReplyControl): void;
  head(head: ResponseHead): void;
  message(message: ReplyMessage): Promise<void> | undefined;
  data(chunk: Buffer, isLast: boolean): Promise<void> | undefined;
  end(ending: Ending): Promise<void> | undefined;
}

/** Passes everything on; a step that listens overrides what it wants to hear. */
export class PassedReply implements Reply {
  readonly reads: boolean;
  protected readonly next: Reply;

  /** @param reads whether the step reads responses */
  constructor(next: Reply, reads = false) {
    this.next = next;
    this.reads = reads || next.reads;
  }

  get signal(): AbortSignal {
    return this.next.signal;
  }

  get isGone(): boolean {
    return this.next.isGone;
  }

  afterwards(run: () => void): void {
    this.next.afterwards(run);
  }

  start(control: ReplyControl): void {
    this.next.start(control);
  }

  head(head: ResponseHead): void {
    this.next.head(head);
  }

  message(message: ReplyMessage): Promise<void> | undefined {
    return this.next.message(message);
  }

  data(chunk: Buffer, isLast: boolean): Promise<void> | undefined {
    return this.next.data(chunk, isLast);
  }

  end(ending: Ending): Promise<void> | undefined {
    return this.next.end(ending);
  }
}
