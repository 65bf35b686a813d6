import type { Answer } from '../exchange/answers/answer.ts';
import { PassedReply, type Reply } from './reply.ts';
import type { ReplyMessage } from './reply-message.ts';

/**
 * Gives a step the JSON text of each awaited response that is not streamed, and passes on what it makes of that; with
 * `changeOther` the same of the notifications and requests on the way to it.
 */
export class ChangedReply extends PassedReply {
  readonly #change: (text: string) => Promise<Answer> | Answer;
  readonly #changeOther: ((text: string) => string) | undefined;

  constructor(next: Reply, change: (text: string) => Promise<Answer> | Answer, changeOther?: (text: string) => string) {
    super(next, true);
    this.#change = change;
    this.#changeOther = changeOther;
  }

  override message(message: ReplyMessage): Promise<void> | undefined {
    if (message.kind === 'other') return this.next.message(changedOther(message, this.#changeOther));
    if (message.kind !== 'response' || message.streamed !== undefined) return this.next.message(message);
    const changed = this.#change(message.text());
    if (!(changed instanceof Promise)) return this.next.message(message.with(changed));
    return changed.then((one) => this.next.message(message.with(one)));
  }
}

/** What is no response, with what the client gets instead of its text. What has no text only says where a stream is. */
function changedOther(message: ReplyMessage, change: ((text: string) => string) | undefined): ReplyMessage {
  const { body } = message;
  return change === undefined || typeof body !== 'string' || body === '' ? message : message.with(change(body));
}
