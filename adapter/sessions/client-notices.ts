import type { MessageBus } from '../state/message-bus.ts';
import type { SessionKey } from '../state/state-store.ts';

/** Messages of the adapter's own to the client of a session, on the stream that it has open, wherever that is. */
export class ClientNotices {
  readonly #bus: Pick<MessageBus, 'publish'>;
  readonly #onError: (error: unknown) => void;

  /** `onError` hears of what could not be sent; nothing waits for it, and nothing fails by it. */
  constructor(bus: Pick<MessageBus, 'publish'>, onError: (error: unknown) => void) {
    this.#bus = bus;
    this.#onError = onError;
  }

  /** The list of resources has changed (MCP, resources). */
  resourcesChanged(session: SessionKey): void {
    this.#send(session, { method: 'notifications/resources/list_changed' });
  }

  /** What was asked for by URL-mode elicitation has been done (MCP 2025-11-25, elicitation). */
  elicitationComplete(session: SessionKey, elicitationId: string): void {
    this.#send(session, { method: 'notifications/elicitation/complete', params: { elicitationId } });
  }

  #send({ serverId, sessionId }: SessionKey, message: object): void {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message });
    this.#bus.publish({ type: 'notify', serverId, sessionId, text }).catch(this.#onError);
  }
}
