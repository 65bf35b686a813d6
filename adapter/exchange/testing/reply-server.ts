import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';

/** What a client got, with the body as far as it has come. */
export interface ClientAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: () => string;
  /** The whole body. Rejects when the connection breaks first. */
  readonly whole: () => Promise<string>;
  /** Resolves as soon as the body holds the text. */
  readonly until: (text: string) => Promise<void>;
}

/** A request of a real client, with the real response object that the code under test writes to. */
export interface OpenReply {
  readonly reply: ServerResponse;
  /** Resolves with the head of the answer. Nothing is read before this is called. */
  readonly answer: () => Promise<ClientAnswer>;
  /** Closes the connection, and waits until the server has noticed. */
  readonly hangUp: () => Promise<void>;
}

/** An HTTP server whose requests the test answers itself. */
export async function startReplyServer(): Promise<{ open(): Promise<OpenReply>; close(): Promise<void> }> {
  const waiting: ((reply: ServerResponse) => void)[] = [];
  const server = createServer((_req, res) => waiting.shift()?.(res));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const agents: Agent[] = [];

  return {
    async open() {
      // A connection of its own, which is kept after the answer, as clients do.
      const agent = new Agent({ keepAlive: true });
      agents.push(agent);
      const { promise, resolve } = Promise.withResolvers<ServerResponse>();
      waiting.push(resolve);
      const outgoing = request({ host: '127.0.0.1', port, agent, method: 'POST' });
      const head = once(outgoing, 'response');
      head.catch(() => undefined);
      outgoing.on('error', () => undefined).end();
      const reply = await promise;
      return {
        reply,
        async answer() {
          const [incoming]: IncomingMessage[] = await head;
          if (incoming === undefined) throw new Error('no answer');
          return answerOf(incoming);
        },
        async hangUp() {
          const closed = once(reply, 'close');
          outgoing.destroy();
          await closed;
        },
      };
    },
    async close() {
      for (const agent of agents) agent.destroy();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function answerOf(incoming: IncomingMessage): ClientAnswer {
  const chunks: string[] = [];
  const body = (): string => chunks.join('');
  let onText: (text: string) => void = () => {};
  const { promise: ended, resolve, reject } = Promise.withResolvers<string>();
  ended.catch(() => undefined);
  incoming.setEncoding('utf8');
  incoming.on('data', (text: string) => {
    chunks.push(text);
    onText(text);
  });
  incoming.on('end', () => resolve(body()));
  incoming.on('error', reject);
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    body,
    whole: () => ended,
    async until(wanted) {
      let recent = body();
      const found = Promise.withResolvers<void>();
      onText = (text) => {
        recent += text;
        if (recent.includes(wanted)) found.resolve();
        recent = recent.slice(-wanted.length);
      };
      onText('');
      await Promise.race([found.promise, ended.then((text) => Promise.reject(new Error(`ended without it: ${text}`)))]);
    },
  };
}
