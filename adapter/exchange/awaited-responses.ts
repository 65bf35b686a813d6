import { isId } from './message.ts';

const NONE: readonly string[] = [];

/**
 * The responses that the client of one exchange waits for. Each is unseen at first, then unanswered until it has left.
 * Ids are JSON texts.
 */
export class AwaitedResponses {
  /** The stream carries event ids, so the client can take it up again elsewhere. */
  isResumable = false;
  readonly #asked: readonly string[];
  readonly #isGet: boolean;
  /** Ids of the requests whose responses have not been seen; those of a batch may come one by one. */
  #unseen: readonly string[];
  /** The same until the responses have left, as far as they are read. */
  #unanswered: readonly string[];
  /** Ids of requests that the client has cancelled. */
  #cancelled: string[] | undefined;

  constructor(asked: readonly string[], isGet: boolean) {
    this.#asked = asked;
    this.#isGet = isGet;
    this.#unseen = asked;
    this.#unanswered = asked;
  }

  get unanswered(): readonly string[] {
    return this.#unanswered;
  }

  /** Whether all responses have been seen, also where none was asked for. */
  get isSeen(): boolean {
    return this.#unseen.length === 0;
  }

  /** Whether all responses have left; never where none was asked for. */
  get isAnswered(): boolean {
    return this.#unanswered.length === 0 && this.#asked.length > 0;
  }

  /** Whether there is a response to come that the client has not cancelled. */
  get isWaitedFor(): boolean {
    const cancelled = this.#cancelled;
    if (cancelled === undefined) return this.#unanswered.length > 0;
    return this.#unanswered.some((idText) => !cancelled.includes(idText));
  }

  /** Whether the client loses nothing when its stream ends here: it can resume it, or no answer is left to come. */
  get mayEnd(): boolean {
    return this.isResumable || this.#unanswered.length === 0;
  }

  /** Whether a stream that ends here is one that the client can resume for responses that are still to come. */
  get goesOn(): boolean {
    return this.isResumable && this.#unseen.length > 0 && this.isWaitedFor;
  }

  /** Whether this response is awaited. A stream that is taken up again is asked for none by its id. */
  awaits(id: string | number): boolean {
    return this.#unseen.some((idText) => isId(id, idText));
  }

  /** Whether one of these is awaited; which of them are does not change. */
  sees(ids: readonly (string | number)[]): boolean {
    return this.#isGet ? ids.length > 0 : ids.some((id) => this.awaits(id));
  }

  /** Whether some of these responses are awaited here, and others are not. */
  isMixed(ids: readonly (string | number)[]): boolean {
    if (this.#isGet) return false;
    const awaited = ids.filter((id) => this.awaits(id)).length;
    return awaited > 0 && awaited < ids.length;
  }

  /** Whether a response of these is awaited; it is not any more. */
  see(ids: readonly (string | number)[]): boolean {
    if (this.#isGet) return ids.length > 0;
    const left = this.#unseen.filter((idText) => !ids.some((id) => isId(id, idText)));
    const found = left.length < this.#unseen.length;
    this.#unseen = left;
    return found;
  }

  /** The upstream has said all that it will. */
  seeAll(): void {
    this.#unseen = NONE;
  }

  /** The responses that were seen have left. */
  answerSeen(): void {
    this.#unanswered = this.#unseen;
  }

  cancel(idText: string): void {
    (this.#cancelled ??= []).push(idText);
  }
}
