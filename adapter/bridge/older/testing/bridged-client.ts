import { createRedaction } from '../../../../lib/redaction/redact.ts';
import { Caches } from '../../../caches.ts';
import { parseBody } from '../../../exchange/message.ts';
import { type FakeExchange, FakeUpstream } from '../../../exchange/testing/fake-upstream.ts';
import type { UpstreamRequest, UpstreamSession } from '../../../exchange/upstream.ts';
import type { UnannouncedChange } from '../../../state/message-bus.ts';
import { MemoryBus } from '../../../state/memory/memory-bus.ts';
import { sampleAccount } from '../../../testing/sample-account.ts';
import { bridgedSessionId } from '../../wire/bridged-session.ts';
import { OlderClients } from '../older-clients.ts';
import { ClientSink } from './client-sink.ts';

const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true },
  logging: {},
};

/** An upstream that answers what the adapter asks for itself; the test answers the rest step by step. */
class ScriptedServer extends FakeUpstream {
  /** The result of `server/discover`; undefined: the server knows no such method. */
  discovery: Record<string, unknown> | undefined = {
    supportedVersions: ['2026-07-28'],
    capabilities: CAPABILITIES,
    ttlMs: 60_000,
  };
  tools: readonly unknown[] = [];
  /** Methods of what was answered here. */
  readonly own: string[] = [];
  #onSent = Promise.withResolvers<void>();

  override send(...[request, sink]: Parameters<FakeUpstream['send']>): void {
    const message = request.body?.messages[0];
    const method = message?.kind === 'request' ? message.method : '';
    const isOwn = method === 'server/discover' || (method === 'tools/list' && request.headers.includes('mcp-method'));
    super.send(request, sink);
    const exchange = this.last;
    if (isOwn && message?.kind === 'request' && message.idText.startsWith('"mcpa-')) {
      this.exchanges.pop();
      this.own.push(method);
      const result = method === 'tools/list' ? { tools: this.tools } : this.discovery;
      const rest =
        result === undefined ? '"error":{"code":-32601,"message":"No"}' : `"result":${JSON.stringify(result)}`;
      exchange
        .json(result === undefined ? 404 : 200)
        .data(`{"jsonrpc":"2.0","id":${message.idText},${rest}}`)
        .end();
      return;
    }
    this.#onSent.resolve();
    this.#onSent = Promise.withResolvers();
  }

  /** The exchange of this index, once it has been started. */
  async exchange(index: number): Promise<FakeExchange> {
    while (this.exchanges.length <= index) await this.#onSent.promise;
    return this.exchanges[index] as FakeExchange;
  }
}

/** Clients in one session at a scripted server, with all of the bridge between them. */
export class BridgedClient implements AsyncDisposable {
  readonly upstream = new ScriptedServer();
  readonly bus: MemoryBus;
  readonly rounds: number[] = [];
  /** What of the server's changes was found not to be told of. */
  readonly unannounced: (readonly UnannouncedChange[])[] = [];
  readonly #caches = new Caches();
  #onOver = Promise.withResolvers<void>();
  readonly older: OlderClients;
  session: UpstreamSession = {
    serverId: 's',
    sessionId: 'a',
    upstreamSessionId: bridgedSessionId,
    generation: 0,
    initializeParams: JSON.stringify({
      clientInfo: { name: 'c', version: '1' },
      capabilities: { elicitation: {}, sampling: {}, roots: {} },
    }),
    logLevel: null,
    subscriptions: [],
  };

  constructor() {
    this.bus = new MemoryBus({ onListenerError: () => undefined, account: sampleAccount() });
    this.older = new OlderClients({
      serverId: 's',
      upstream: this.upstream,
      bus: this.bus,
      caches: this.#caches,
      redact: createRedaction().text,
      listTtlMs: 60_000,
      limits: { maxRounds: 8, ttlMs: 600_000 },
      onUnannounced: (changes) => this.unannounced.push(changes),
      onRounds: (rounds) => {
        this.rounds.push(rounds);
        this.#onOver.resolve();
        this.#onOver = Promise.withResolvers();
      },
    });
  }

  /** Posts one message, or a batch. */
  post(message: unknown, more: Partial<UpstreamRequest> = {}): ClientSink {
    const body = parseBody(Buffer.from(typeof message === 'string' ? message : JSON.stringify(message)));
    if ('code' in body) throw new Error(body.detail);
    return this.#send({ method: 'POST', body, ...more });
  }

  request(method: string, params: unknown = {}, id: unknown = 1): ClientSink {
    return this.post({ jsonrpc: '2.0', id, method, params });
  }

  call(name = 't', args: unknown = {}, id: unknown = 1): ClientSink {
    return this.request('tools/call', { name, arguments: args }, id);
  }

  stream(): ClientSink {
    return this.#send({ method: 'GET', body: undefined });
  }

  /** Resolves when the next request that went to the server is over, whether its client is there or not. */
  over(): Promise<void> {
    return this.#onOver.promise;
  }

  #send(request: Pick<UpstreamRequest, 'method' | 'body'>): ClientSink {
    const sink = new ClientSink();
    this.older.send({ session: this.session, headers: ['authorization', 'a'], ...request }, sink);
    return sink;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.older.close();
    this.#caches.stop();
    await this.bus.close();
  }
}
