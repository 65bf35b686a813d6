import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';

export interface FewConnections {
  /** Most connections. When there are more, the oldest goes that waits for a request, not who comes. */
  readonly connections: number;
  /** Milliseconds for a whole request to arrive. */
  readonly requestMs: number;
}

/** How often connections are looked at whose request does not arrive; Node's own 30 s are as long as probes are patient. */
const LOOK_MS = 1_000;

/**
 * A server for probes and a few others: nobody who just holds connections keeps them away. One peer gets at most half of
 * the connections.
 */
export function createServerForFew({ connections, requestMs }: FewConnections, listener: RequestListener): Server {
  /** Oldest first. */
  const open = new Set<Socket>();
  const answered = new Set<Socket>();
  const server = createServer({
    requestTimeout: requestMs,
    headersTimeout: requestMs,
    keepAliveTimeout: requestMs,
    connectionsCheckingInterval: LOOK_MS,
  });
  const makeRoom = (sockets: readonly Socket[], most: number): void => {
    if (sockets.length > most) (sockets.find((socket) => !answered.has(socket)) ?? sockets.at(-1))?.destroy();
  };
  server.on('connection', (socket) => {
    const peer = socket.remoteAddress;
    open.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      answered.delete(socket);
    });
    const all = [...open].filter(({ destroyed }) => !destroyed);
    makeRoom(
      all.filter(({ remoteAddress }) => remoteAddress === peer),
      Math.ceil(connections / 2),
    );
    makeRoom(
      all.filter(({ destroyed }) => !destroyed),
      connections,
    );
  });
  server.on('request', (request, response) => {
    answered.add(request.socket);
    response.once('close', () => answered.delete(request.socket));
    listener(request, response);
  });
  return server;
}
