import { EventEmitter, once } from 'node:events';
import type { UpstreamTransport } from './real-servers.ts';

/** A JSON-RPC message as it came, before the SDK looked at it. */
export interface WireMessage {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: { progress: number; total?: number; message?: string }) => void;
}

/** What the user of the client gives when the server asks. */
export interface Answers {
  sampling: string;
  elicitation: { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, string | number | boolean> };
  roots: { uri: string; name: string }[];
}

export interface RealClientOptions {
  readonly url: string;
  /** What `url` speaks. The adapter's mounts speak `streamable_http`, whatever their upstream does. */
  readonly transport: UpstreamTransport;
  readonly answers: Answers;
  /** SDK v2 only: probes for the sessionless revision first, and falls back. */
  readonly negotiates?: boolean;
  /** Default: RECONNECTION. */
  readonly reconnection?: typeof RECONNECTION;
}

/** The SDKs' own, but for the retries: two end after 2.5 s, and a server on a busy machine takes longer to start. */
export const RECONNECTION = {
  initialReconnectionDelay: 1000,
  maxReconnectionDelay: 30_000,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 6,
};

/** A client as an application has it: an SDK with capabilities, answers and one session. */
export interface RealClient extends AsyncDisposable {
  /** The result of `initialize`, as it came; nothing where there is no session. */
  readonly initialized: Record<string, unknown>;
  /** Every message of the server so far. */
  readonly received: readonly WireMessage[];
  /** The body of every request that the SDK has sent so far. */
  readonly sent: readonly WireMessage[];
  /** Any request of the protocol. Nothing of the result is lost to the SDK's schemas. */
  request(method: string, params?: Record<string, unknown>, options?: CallOptions): Promise<Record<string, unknown>>;
  /** The SDK's own method, which checks the result. */
  callTool(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<Record<string, unknown>>;
  notifyRootsChanged(): Promise<void>;
  /** How often a stream of GET has been opened so far. */
  streams(): number;
  /** Resolves with the first message that matches, also when it has come already. Rejects after 20 s. */
  waitForMessage(matches: (message: WireMessage) => boolean): Promise<WireMessage>;
  /** Ends the session and closes all connections. */
  close(): Promise<void>;
}

/** The name that both SDKs give, so that servers see the same client. */
export const CLIENT_INFO = { name: 'real-client', version: '1.0.0' };

/** What both SDKs can do for a server. Version 1 alone also runs tasks. */
export const CLIENT_CAPABILITIES = { roots: { listChanged: true }, sampling: {}, elicitation: { form: {}, url: {} } };

const MESSAGE_TIMEOUT_MS = 20_000;

/** Records both sides of a client's wire. */
export class WireRecorder {
  readonly received: WireMessage[] = [];
  readonly sent: WireMessage[] = [];
  streams = 0;
  readonly #arrivals = new EventEmitter();
  readonly #stream = Promise.withResolvers<void>();

  /**
   * Opens the session and waits for the stream of GET: what a server sends before that is open, it sends to nobody.
   * The SDKs keep a callback that a transport has already and call it first.
   */
  async connect<T extends { onmessage?: (message: never) => void }>(
    transport: T,
    client: { connect(transport: T): Promise<void>; close(): Promise<void> },
  ): Promise<void> {
    const onmessage = (message: unknown): void => {
      this.received.push(message as WireMessage);
      this.#arrivals.emit('message');
    };
    Object.assign(transport, { onmessage });
    try {
      await client.connect(transport);
      if (this.opensSession) await this.#streamIsOpen();
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  /** Whether the client has asked for a session. */
  get opensSession(): boolean {
    return this.sent.some(({ method }) => method === 'initialize');
  }

  /** For the transport's `fetch`. */
  readonly fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    if (typeof init?.body === 'string') this.sent.push(JSON.parse(init.body) as WireMessage);
    const response = await fetch(url, init);
    if ((init?.method ?? 'GET') === 'GET' && response.ok) {
      this.streams += 1;
      this.#stream.resolve();
    }
    return response;
  };

  async #streamIsOpen(): Promise<void> {
    const timeout = AbortSignal.timeout(MESSAGE_TIMEOUT_MS);
    const expired = once(timeout, 'abort').then(() => {
      throw new Error(`the stream of GET is not open after ${MESSAGE_TIMEOUT_MS} ms`);
    });
    await Promise.race([this.#stream.promise, expired]);
  }

  async waitForMessage(matches: (message: WireMessage) => boolean): Promise<WireMessage> {
    const signal = AbortSignal.timeout(MESSAGE_TIMEOUT_MS);
    for (let next = 0; ; next += 1) {
      // Several may arrive before this goes on, so events only wake it and the list is what is read.
      if (next >= this.received.length) await once(this.#arrivals, 'message', { signal }).catch(() => undefined);
      const message = this.received[next];
      if (message === undefined) {
        const seen = this.received.map((one) => JSON.stringify(one).slice(0, 200)).join('\n');
        throw new Error(`no such message within ${MESSAGE_TIMEOUT_MS} ms, but:\n${seen}`);
      }
      if (matches(message)) return message;
    }
  }

  initialized(): Record<string, unknown> {
    if (!this.opensSession) return {};
    const result = this.received.find((message) => message.result?.['protocolVersion'] !== undefined)?.result;
    if (result === undefined) throw new Error('no result of initialize has come');
    return result;
  }
}
