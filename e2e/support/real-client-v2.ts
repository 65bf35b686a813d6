import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { z } from 'zod';
import {
  type CallOptions,
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  type RealClient,
  type RealClientOptions,
  RECONNECTION,
  WireRecorder,
} from './real-client.ts';

/** Connects `@modelcontextprotocol/client`. */
export async function connectV2(options: RealClientOptions): Promise<RealClient> {
  const { url, transport, answers, negotiates, reconnection = RECONNECTION } = options;
  const wire = new WireRecorder();
  const client = new Client(CLIENT_INFO, {
    capabilities: CLIENT_CAPABILITIES,
    versionNegotiation: negotiates === true ? { mode: 'auto' } : undefined,
  });
  client.setRequestHandler('roots/list', () => ({ roots: answers.roots }));
  client.setRequestHandler('sampling/createMessage', () => ({
    role: 'assistant',
    content: { type: 'text', text: answers.sampling },
    model: 'test-model',
    stopReason: 'endTurn',
  }));
  client.setRequestHandler('elicitation/create', () => answers.elicitation);

  const endpoint = new URL(url);
  const connection =
    transport === 'sse'
      ? new SSEClientTransport(endpoint, { fetch: wire.fetch })
      : new StreamableHTTPClientTransport(endpoint, { fetch: wire.fetch, reconnectionOptions: reconnection });
  await wire.connect(connection, client);

  const optionsOf = ({ signal, onProgress }: CallOptions = {}) => ({ signal, onprogress: onProgress });
  const real: RealClient = {
    initialized: wire.initialized(),
    received: wire.received,
    sent: wire.sent,
    streams: () => wire.streams,
    request: (method, params, options) =>
      client.request({ method, params }, z.record(z.string(), z.unknown()), optionsOf(options)),
    callTool: (name, args = {}, options) => client.callTool({ name, arguments: args }, optionsOf(options)),
    notifyRootsChanged: () => client.sendRootsListChanged(),
    waitForMessage: (matches) => wire.waitForMessage(matches),
    async close() {
      try {
        if (connection instanceof StreamableHTTPClientTransport) await connection.terminateSession();
      } finally {
        await client.close();
      }
    },
    [Symbol.asyncDispose]: () => real.close(),
  };
  return real;
}
