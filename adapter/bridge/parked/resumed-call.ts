import { AdapterError } from '../../errors.ts';
import { progressToken, type Request } from '../../exchange/message.ts';
import type { ResponseHead } from '../../exchange/upstream.ts';
import { OK } from '../../path/ending.ts';
import type { Operation } from '../../path/operation.ts';
import type { Reply } from '../../path/reply.ts';
import { ReplyMessage } from '../../path/reply-message.ts';
import type { MessageBus } from '../../state/message-bus.ts';
import { withClientToken } from '../wire/progress-tokens.ts';
import { withId } from '../wire/responses.ts';
import { isOwned, type OwnerLeaseDeps } from './owner-lease.ts';
import { after, ORDERS, type ParkedEntry, parkedKey, type ParkedOrder } from './parked-entry.ts';
import type { ParkedState } from './parked-state.ts';

export interface ResumedCallDeps {
  readonly serverId: string;
  readonly bus: MessageBus;
  readonly owners: OwnerLeaseDeps;
}

const OWNER_LOOK_MS = 250;
const FROM_THE_START = '0-0';
const STREAM_HEAD: ResponseHead = {
  status: 200,
  headers: { 'content-type': 'text/event-stream' },
  upstreamSessionId: null,
};

/** The answers of a client on their way to the replica that holds the call, and the rest of the call on its way back. */
export class ResumedCall {
  readonly #deps: ResumedCallDeps;
  readonly #request: Request;
  readonly #reply: Reply;
  readonly #state: ParkedState;
  readonly #ended = Promise.withResolvers<boolean>();
  #said: Promise<void> = Promise.resolve();
  #hasHead = false;
  #isOver = false;

  constructor(deps: ResumedCallDeps, operation: Pick<Operation, 'request'>, reply: Reply, state: ParkedState) {
    this.#deps = deps;
    this.#request = operation.request as Request;
    this.#reply = reply;
    this.#state = state;
  }

  /** False: the replica that held the call is gone, and has said nothing since. */
  async run(order: ParkedOrder): Promise<boolean> {
    const { bus, serverId } = this.#deps;
    const { exchange, round } = this.#state;
    const carrier = order.type === 'repeat' ? order.carrier : after(round);
    const follow = (hears: (entry: ParkedEntry) => boolean): ReturnType<MessageBus['follow']> =>
      bus.follow(parkedKey(serverId, exchange), carrier, FROM_THE_START, ({ message }) => {
        const entry = JSON.parse(message) as ParkedEntry;
        if (hears(entry)) this.#said = this.#said.then(() => this.#hear(entry));
        this.#said.catch((error: unknown) => this.#ended.reject(error));
      });
    // It may have said something last, and be gone since then.
    const unfollow = await follow(() => true);
    const { signal } = this.#reply;
    const onAbort = (): void => {
      // Who only looked again may come back.
      if (order.type === 'answers') this.#order({ type: 'cancel' }).catch(() => undefined);
      this.#ended.reject(signal.reason);
    };
    let misses = 0;
    const look = async (): Promise<void> => {
      if (this.#isOver || (await this.#isHeld())) {
        misses = 0;
        return;
      }
      misses += 1;
      // What it said last may be on its way.
      if (misses < 2) return;
      const again = await follow(({ type }) => type !== 'message');
      await again();
      await this.#said;
      if (this.#isOver) return;
      if (this.#hasHead) throw new AdapterError('upstream_failed', 'The replica that held this call is gone.');
      this.#ended.resolve(false);
    };
    const timer = setInterval(() => {
      look().catch((error: unknown) => this.#ended.reject(error));
    }, OWNER_LOOK_MS);
    try {
      await this.#order(order);
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
      return await this.#ended.promise;
    } finally {
      this.#isOver = true;
      clearInterval(timer);
      signal.removeEventListener('abort', onAbort);
      await unfollow();
    }
  }

  #isHeld(): Promise<boolean> {
    return isOwned(this.#deps.owners, this.#state.exchange);
  }

  async #order(order: ParkedOrder): Promise<void> {
    const { bus, serverId } = this.#deps;
    await bus.append(parkedKey(serverId, this.#state.exchange), { carrier: ORDERS, message: JSON.stringify(order) });
  }

  async #hear(entry: ParkedEntry): Promise<void> {
    if (this.#isOver) return;
    const { idText } = this.#request;
    if (entry.type === 'message') {
      if (!this.#hasHead) this.#reply.head(STREAM_HEAD);
      this.#hasHead = true;
      const client = progressToken(this.#request);
      const text = client === null ? entry.text : withClientToken(entry.text, { client });
      await this.#reply.message(new ReplyMessage('other', text));
      return;
    }
    if (entry.type === 'asks') await this.#respond(ReplyMessage.result(idText, entry.result));
    else {
      await this.#respond(new ReplyMessage('response', withId(entry.text, idText)));
    }
    this.#isOver = true;
    await this.#reply.end(OK);
    this.#ended.resolve(true);
  }

  async #respond(message: ReplyMessage): Promise<void> {
    if (!this.#hasHead) this.#reply.head({ ...STREAM_HEAD, headers: { 'content-type': 'application/json' } });
    await this.#reply.message(message);
  }
}
