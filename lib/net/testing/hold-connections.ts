import { once } from 'node:events';
import { connect } from 'node:net';

/** Connections that say nothing, and as many that have sent half a request. */
export async function holdConnections(url: string, count = 1000): Promise<Disposable> {
  const { hostname, port } = new URL(url);
  const sockets = await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined).resume();
      await once(socket, 'connect');
      if (i % 2 === 0) socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n');
      return socket;
    }),
  );
  return {
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}
