import { createServer, request } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

export interface TestProxy extends AsyncDisposable {
  readonly url: string;
  /** Method and URL of every request so far. */
  readonly seen: readonly string[];
}

/**
 * A server that passes every request on, with its Host, but those that `answer` takes: it answers and says so.
 */
export async function startProxy(
  target: string,
  answer: (request: IncomingMessage, response: ServerResponse) => boolean,
): Promise<TestProxy> {
  const seen: string[] = [];
  const server: Server = createServer((incoming, outgoing) => {
    seen.push(`${incoming.method} ${incoming.url}`);
    if (answer(incoming, outgoing)) return;
    const { method, headers, url: path } = incoming;
    const { hostname, port } = new URL(target);
    const onward = request({ hostname, port, path, method, headers }, (reply) => {
      outgoing.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
