import type { Answer } from '../exchange/answers/answer.ts';
import { PassedReply, type Reply } from './reply.ts';
import type { ReplyMessage } from './reply-message.ts';

/** Gives a step the JSON text of each awaited response that is not streamed, and passes on what it makes of that. */
export class ChangedReply extends PassedReply {
  readonly #change: (text: string) => Promise<Answer> | Answer;

  constructor(next: Reply, change: (text: string) => Promise<Answer> | Answer) {
    super(next, true);
    this.#change = change;
  }

  override message(message: ReplyMessage): Promise<void> | undefined {
    if (message.kind !== 'response' || message.streamed !== undefined) return this.next.message(message);
    const changed = this.#change(message.text());
    if (!(changed instanceof Promise)) return this.next.message(message.with(changed));
    return changed.then((one) => this.next.message(message.with(one)));
  }
}
