import { createServer, connect, type Socket } from 'node:net';

import { listen } from '../../../e2e/support/ports.ts';

/** TCP to one port of this machine, as a network that fails in different ways. */
export interface FreezingProxy extends AsyncDisposable {
  readonly port: number;
  /** Connections that are open pass nothing more, without an end; new ones work. */
  freeze(): void;
  /** Ends all connections, and every new one at once, until `open`. */
  cut(): void;
  open(): void;
  /** Connections that were ever made. */
  readonly connections: number;
}

export async function startFreezingProxy(target: number): Promise<FreezingProxy> {
  const sockets = new Set<Socket>();
  let isCut = false;
  let connections = 0;
  const server = createServer((client) => {
    connections++;
    if (isCut) {
      client.destroy();
      return;
    }
    const upstream = connect(target, '127.0.0.1');
    client.pipe(upstream).pipe(client);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  const port = await listen(server);
  return {
    port,
    get connections() {
      return connections;
    },
    freeze() {
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    open() {
      isCut = false;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
