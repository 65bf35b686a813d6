import type { Body } from '../exchange/message.ts';
import type { AdapterError } from '../errors.ts';
import type { ClientUpstream } from '../mount/client-upstream.ts';
import {
  asksForLists,
  cachedList,
  type ListAsker,
  listAnswer,
  type ListedMount,
  resumedAnswer,
} from '../lists/list-answers.ts';
import type { Mount } from '../mount/mount.ts';
import { answer } from '../path/answer.ts';
import type { Operation } from '../path/operation.ts';
import { PassedReply, type Reply } from '../path/reply.ts';
import type { ReplyMessage } from '../path/reply-message.ts';
import type { Send, Step } from '../path/step.ts';
import type { StateStore } from '../state/state-store.ts';
import { listKey } from '../upstream/list-cache.ts';

const CACHED = { outcome: 'cached' } as const;

/** Lists as their client may see them: from the cache where that has them, and as the upstream gives them otherwise. */
export class Lists implements Step {
  readonly #mount: ListedMount & Pick<Mount, 'headers' | 'onListsChanged'>;
  readonly #client: ClientUpstream;
  readonly #store: Pick<StateStore, 'firstTexts' | 'now' | 'dropLists'>;
  readonly #known: (error: unknown) => AdapterError;

  constructor(
    mount: ListedMount & Pick<Mount, 'headers' | 'onListsChanged'>,
    client: ClientUpstream,
    store: Pick<StateStore, 'firstTexts' | 'now' | 'dropLists'>,
    known: (error: unknown) => AdapterError,
  ) {
    this.#mount = mount;
    this.#client = client;
    this.#store = store;
    this.#known = known;
  }

  send(operation: Operation, reply: Reply, next: Send): Promise<void> | undefined {
    const { body, isSessionless } = operation;
    if (!asksForLists(body.messages)) {
      const isPassed = isSessionless && this.#mount.onListsChanged === undefined;
      next(operation, isPassed ? reply : new ListsReply(operation, reply, this, undefined));
      return undefined;
    }
    const key = isSessionless ? undefined : this.#cachedUnder(operation, body);
    const kept = key === undefined ? undefined : this.#kept(operation, key);
    if (kept !== undefined) return this.#answer(operation, reply, kept);
    const shown = listAnswer(this.#asker(operation, reply), body, key, () => operation.session);
    next(operation, isSessionless && shown === undefined ? reply : new ListsReply(operation, reply, this, shown));
    return undefined;
  }

  /** A response that was asked for elsewhere, as the client gets it. */
  resumed(operation: Operation, reply: Reply, text: string): string | Promise<string> {
    return resumedAnswer(this.#asker(operation, reply), operation.session, text);
  }

  /** The upstream says that a list has changed. */
  async changed({ session, isSessionless }: Operation): Promise<void> {
    this.#mount.onListsChanged?.();
    if (this.#mount.lists.enabled && !isSessionless) await this.#store.dropLists(session);
  }

  #asker(operation: Operation, reply: Reply): ListAsker {
    const source = this.#client.source(operation, reply);
    return { mount: this.#mount, source, tasks: this.#store, known: this.#known };
  }

  /** What a list that the body asks for is cached under: others may see another one. */
  #cachedUnder({ caller }: Operation, { batch, messages: [first] }: Body): string | undefined {
    const key = batch || first?.kind !== 'request' ? undefined : listKey(first.method, first.params);
    if (key === undefined) return undefined;
    const { access, headers } = caller;
    return `${this.#mount.visibleCatalog.epoch}\n${this.#mount.headers.clientKey(headers)}\n${access === undefined ? '' : `${access.key}\n`}${key}`;
  }

  #kept({ session }: Operation, key: string): ReturnType<Mount['lists']['get']> {
    const { lists, visibleCatalog } = this.#mount;
    return lists.enabled && !visibleCatalog.isStrict ? lists.get(session, key, Date.now()) : undefined;
  }

  async #answer(
    { request, session, caller }: Operation,
    reply: Reply,
    kept: NonNullable<ReturnType<Mount['lists']['get']>>,
  ): Promise<void> {
    if (request === undefined) return;
    const shown = await cachedList(this.#mount, caller, session, request, kept.text);
    await answer(reply, request.idText, (shown === kept.text ? kept.bytes : undefined) ?? shown, CACHED);
  }
}

type Shown = (text: string) => string | Promise<string>;

class ListsReply extends PassedReply {
  readonly #operation: Operation;
  readonly #lists: Pick<Lists, 'resumed' | 'changed'>;
  /** How the awaited response must be changed; undefined: it passes as it is. */
  readonly #shown: Shown | undefined;

  constructor(operation: Operation, next: Reply, lists: Pick<Lists, 'resumed' | 'changed'>, shown: Shown | undefined) {
    super(next, shown !== undefined || operation.isGet);
    this.#operation = operation;
    this.#lists = lists;
    this.#shown = shown;
  }

  /** The client hears that a list has changed when it would get the new one. */
  override message(message: ReplyMessage): Promise<void> | undefined {
    if (!message.saysListChanged) return this.#show(message);
    return this.#lists.changed(this.#operation).then(() => this.#show(message));
  }

  #show(message: ReplyMessage): Promise<void> | undefined {
    const { kind, streamed } = message;
    if (streamed !== undefined || kind === 'other' || kind === 'opaque') return this.next.message(message);
    const { isGet, isSessionless } = this.#operation;
    const isElsewhere = !isSessionless && (kind === 'unsolicited' || isGet);
    if (!isElsewhere && this.#shown === undefined) return this.next.message(message);
    const text = message.text();
    const out = isElsewhere ? this.#lists.resumed(this.#operation, this, text) : (this.#shown?.(text) ?? text);
    if (typeof out === 'string') return this.next.message(message.with(out));
    return out.then((shown) => this.next.message(message.with(shown)));
  }
}
