import { setTimeout as delay } from 'node:timers/promises';

import { REQUEST_LIMITS } from '../../../lib/json/json-limits.ts';
import { parseBody, type Request } from '../../exchange/message.ts';
import { insertMember } from '../../catalog/insert-member.ts';
import { locate, splice } from '../../exchange/scanning/json-scan.ts';
import type { ResponseControl, Upstream } from '../../exchange/upstream.ts';
import { ownRequest } from '../../upstream/own-request.ts';
import type { CallSession } from './call-session.ts';
import { CHANGING_LISTS, type ChangingList } from '../wire/changing-lists.ts';
import type { ClientSide } from '../wire/client-side.ts';
import { type EventStream, openEventStream } from './event-stream.ts';
import { META } from '../../exchange/protocol-meta.ts';
import { OwnAnswers } from './own-answers.ts';

const TIMEOUT_MS = 20_000;
const RESUME_MS = 1_000;
const MAX_SUBSCRIPTIONS = 1_000;

export interface NewerStreamDeps {
  readonly upstream: Upstream;
  readonly open: () => Promise<CallSession>;
}

/**
 * `subscriptions/listen` of a client without sessions at a server that has them: the event stream of a session of its own,
 * with what was asked for, and nothing else.
 */
export class NewerStream implements ResponseControl {
  readonly #deps: NewerStreamDeps;
  readonly #message: Request;
  readonly #client: ClientSide;
  readonly #answers: OwnAnswers;
  readonly #aborter = new AbortController();
  #opened: EventStream | undefined;
  #isPaused = false;

  constructor(deps: NewerStreamDeps, message: Request, client: ClientSide) {
    this.#deps = deps;
    this.#message = message;
    this.#client = client;
    this.#answers = new OwnAnswers(deps.upstream);
  }

  pause(): void {
    this.#isPaused = true;
    this.#opened?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#opened?.resume();
  }

  abort(): void {
    this.#aborter.abort();
    this.#opened?.abort();
  }

  /** Runs until the client leaves, or the server's stream ends for good. */
  async run(): Promise<void> {
    try {
      const session = await this.#deps.open();
      try {
        await this.#run(session);
      } finally {
        session.leave();
      }
    } catch (error) {
      if (!this.#aborter.signal.aborted) this.#client.failed(error as Error, true);
    }
  }

  async #run(session: CallSession): Promise<void> {
    const asked = (this.#message.params['notifications'] ?? {}) as Record<string, unknown>;
    const capabilities = JSON.parse(session.greeting.capabilities ?? '{}') as Record<string, Record<string, unknown>>;
    const lists = CHANGING_LISTS.filter(
      ([name, of]) => asked[name] === true && capabilities[of]?.['listChanged'] === true,
    );
    const uris = new Set<string>();
    const wanted = asked['resourceSubscriptions'];
    let stream = await this.#open(session, undefined, lists, uris);
    if (stream !== undefined && Array.isArray(wanted) && capabilities['resources']?.['subscribe'] === true) {
      for (const uri of wanted.slice(0, MAX_SUBSCRIPTIONS)) {
        // oxlint-disable-next-line no-await-in-loop -- A server is asked for one after the other.
        if (typeof uri === 'string' && (await this.#subscribe(session, uri))) uris.add(uri);
      }
    }
    const honoured: Record<string, unknown> = {};
    if (stream !== undefined) for (const [name] of lists) honoured[name] = true;
    if (uris.size > 0) honoured['resourceSubscriptions'] = [...uris];
    this.#notify({ method: 'notifications/subscriptions/acknowledged', params: { notifications: honoured } });
    while (stream !== undefined && !this.#aborter.signal.aborted) {
      // oxlint-disable-next-line no-await-in-loop -- One stream comes after the other.
      const { lastEventId } = await stream.ended;
      if (this.#aborter.signal.aborted) return;
      // oxlint-disable-next-line no-await-in-loop -- See above.
      await delay(RESUME_MS, undefined, { signal: this.#aborter.signal });
      // oxlint-disable-next-line no-await-in-loop -- See above.
      stream = await this.#open(session, lastEventId, lists, uris);
    }
    // Nothing will come of it; a client that wants to listens anew.
    const { idText } = this.#message;
    this.#client.response(
      `{"jsonrpc":"2.0","id":${idText},"result":{"resultType":"complete","_meta":{"${META.subscriptionId}":${idText}}}}`,
    );
  }

  /** Undefined where the server has no such stream. */
  async #open(
    session: CallSession,
    lastEventId: string | undefined,
    lists: readonly ChangingList[],
    uris: ReadonlySet<string>,
  ): Promise<EventStream | undefined> {
    const hear = (text: string): void => this.#heard(session, text, lists, uris);
    const stream = openEventStream(this.#deps.upstream, session, hear, { lastEventId, isPaused: this.#isPaused });
    this.#opened = stream;
    return (await stream.begun) ? stream : undefined;
  }

  #heard(session: CallSession, text: string, lists: readonly ChangingList[], uris: ReadonlySet<string>): void {
    const body = parseBody(Buffer.from(text), REQUEST_LIMITS);
    if ('code' in body || body.batch) return;
    const [message] = body.messages;
    if (message?.kind === 'request') this.#answers.unclaimed(session, message);
    else if (message?.kind === 'notification') {
      const isList = lists.some(([, , method]) => method === message.method);
      const { uri } = message.params;
      const isUpdate = message.method === 'notifications/resources/updated' && typeof uri === 'string' && uris.has(uri);
      if (isList || isUpdate) this.#client.message(this.#tagged(text));
    }
  }

  async #subscribe({ session, headers }: CallSession, uri: string): Promise<boolean> {
    const message = { method: 'resources/subscribe', params: JSON.stringify({ uri }) };
    const { signal } = this.#aborter;
    const options = { session, headers, message, timeoutMs: TIMEOUT_MS, signal };
    const answer = await ownRequest(this.#deps.upstream, options).catch(() => undefined);
    signal.throwIfAborted();
    return answer?.message?.result !== undefined;
  }

  #notify(message: { readonly method: string; readonly params: Record<string, unknown> }): void {
    this.#client.message(this.#tagged(JSON.stringify({ jsonrpc: '2.0', ...message })));
  }

  /** Says which listening it belongs to. */
  #tagged(text: string): string {
    const { idText } = this.#message;
    const meta = locate(text, ['params', '_meta']);
    if (meta !== undefined) return splice(text, [insertMember(text, meta, META.subscriptionId, idText)]);
    const own = `{"${META.subscriptionId}":${idText}}`;
    const params = locate(text, ['params']);
    if (params !== undefined) return splice(text, [insertMember(text, params, '_meta', own)]);
    const end = text.lastIndexOf('}');
    return `${text.slice(0, end)},"params":{"_meta":${own}}${text.slice(end)}`;
  }
}
