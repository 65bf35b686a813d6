import { ANSWER_LIMITS, JsonLimitError, type JsonLimits } from '../../lib/json/json-limits.ts';
import { type Answer, type StreamedAnswer, surround } from '../exchange/answers/answer.ts';
import { saysListChanged } from '../exchange/scanning/list-changed.ts';
import type { Frame } from '../exchange/scanning/sse-frames.ts';

/**
 * `response`: one that is awaited. `unsolicited`: one that was asked for elsewhere. `other`: a request, a notification, or nothing
 * but a place in the stream. `opaque`: a body that is no message, and may pass all the same.
 */
export type MessageKind = 'response' | 'unsolicited' | 'other' | 'opaque';

/** What was read of a message without parsing it. */
interface Scanned {
  readonly hasOther: boolean;
  exceeded(limits: JsonLimits): keyof JsonLimits | undefined;
}

/** One message of a reply, or an array of responses. It is read when somebody asks for its text. */
export class ReplyMessage {
  readonly kind: MessageKind;
  /** The event that it came as; undefined where it is a whole body. */
  readonly frame: Frame | undefined;
  /** Only its beginning is here; the rest follows as `data`. */
  readonly isOpen: boolean;
  /** It is not what has come any more. */
  readonly isChanged: boolean;
  readonly #scan: Scanned | undefined;
  readonly #body: string | readonly Buffer[] | StreamedAnswer;
  #text: string | undefined;

  constructor(
    kind: MessageKind,
    body: string | readonly Buffer[] | StreamedAnswer,
    more: {
      readonly frame?: Frame | undefined;
      readonly isOpen?: boolean;
      readonly isChanged?: boolean;
      readonly scan?: Scanned | undefined;
      /** The same as text, where it is there. */
      readonly text?: string | undefined;
    } = NOTHING_MORE,
  ) {
    this.kind = kind;
    this.frame = more.frame;
    this.isOpen = more.isOpen ?? false;
    this.isChanged = more.isChanged ?? false;
    this.#scan = more.scan;
    this.#body = body;
    this.#text = more.text;
  }

  /** A response with this result (JSON text), made by the adapter. */
  static result(idText: string, result: Answer): ReplyMessage {
    return new ReplyMessage('response', surround(before(idText), result, AFTER));
  }

  /** The same with bytes of which others get the same. */
  static sharedResult(idText: string, result: Buffer): ReplyMessage {
    return new ReplyMessage('response', [Buffer.from(before(idText)), result, AFTER_BYTES]);
  }

  /** Whether an event says that a list has changed. */
  get saysListChanged(): boolean {
    return this.#scan?.hasOther === true && typeof this.#body === 'string' && saysListChanged(this.#body);
  }

  /** JSON text in parts that are not in memory all at once; undefined for any other. */
  get streamed(): StreamedAnswer | undefined {
    return 'parts' in Object(this.#body) ? (this.#body as StreamedAnswer) : undefined;
  }

  /** What leaves, unless it is streamed: the bytes that came where there are any, and the text of an event. Not to be parsed. */
  get body(): string | readonly Buffer[] {
    return this.#body as string | readonly Buffer[];
  }

  /**
   * Its JSON text.
   * @throws JsonLimitError for one that is too much to be parsed
   */
  text(): string {
    const exceeded = this.#scan?.exceeded(ANSWER_LIMITS);
    if (exceeded !== undefined) throw new JsonLimitError(exceeded, ANSWER_LIMITS);
    if (typeof this.#body === 'string') return this.#body;
    return (this.#text ??= Buffer.concat(this.body as readonly Buffer[]).toString('utf8'));
  }

  /** The message with what the client gets instead of its text; itself where that is the same. */
  with(answer: Answer): ReplyMessage {
    if (answer === (typeof this.#body === 'string' ? this.#body : this.#text)) return this;
    return new ReplyMessage(this.kind, answer, { frame: this.frame, isChanged: true });
  }
}

const NOTHING_MORE = {};
const AFTER = '}';
const AFTER_BYTES = Buffer.from(AFTER);
const before = (idText: string): string => `{"jsonrpc":"2.0","id":${idText},"result":`;
