import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { readEvents, type SseEvent } from '../../support/raw-client.ts';
import { within } from './within.ts';

const PATIENCE_MS = 10_000;

export type Matcher = (message: JsonObject) => boolean;

export const isResponse: Matcher = ({ method }) => method === undefined;
export const isMethod =
  (wanted: string): Matcher =>
  ({ method }) =>
    method === wanted;

/** Reads an event stream message by message, and remembers where it is. */
export class EventReader {
  readonly #events: AsyncGenerator<SseEvent, undefined>;
  #lastEventId: string | undefined;

  /** Throws when the response is no event stream. */
  constructor(response: Response) {
    const type = response.headers.get('content-type') ?? 'nothing';
    if (!type.startsWith('text/event-stream')) throw new Error(`HTTP ${response.status} with ${type}, no event stream`);
    this.#events = readEvents(response);
  }

  /** The id of the last event that had one: what a client sends as `Last-Event-ID`. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** The next event of any kind; undefined at the end of the stream. Rejects when the connection breaks. */
  async event(timeoutMs = PATIENCE_MS): Promise<SseEvent | undefined> {
    const { value } = await within(timeoutMs, 'an event', this.#events.next());
    this.#lastEventId = value?.id ?? this.#lastEventId;
    return value;
  }

  /** The next message that matches. Rejects when the stream ends first. */
  async message(matches: Matcher = () => true, timeoutMs = PATIENCE_MS): Promise<JsonObject> {
    for (;;) {
      const event = await this.event(timeoutMs);
      if (event === undefined) throw new Error('the stream ended before the awaited message');
      const message = event.data === '' ? undefined : asObject(JSON.parse(event.data));
      if (message !== undefined && matches(message)) return message;
    }
  }

  /** Reads up to the end of the stream; resolves with the messages on the way. Rejects when the connection breaks. */
  async rest(timeoutMs = PATIENCE_MS): Promise<JsonObject[]> {
    const messages: JsonObject[] = [];
    for (;;) {
      const event = await this.event(timeoutMs);
      if (event === undefined) return messages;
      if (event.data !== '') messages.push(asObject(JSON.parse(event.data)));
    }
  }
}
