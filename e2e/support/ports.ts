import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

/** The port that a listening server is bound to. */
function boundPort(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server does not listen on a port');
  return address.port;
}

/** Listens, on 127.0.0.1 by default, and resolves with the port; rejects when that is not possible. */
export function listen(server: Server, port = 0, host = '127.0.0.1'): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve(boundPort(server));
    });
  });
}

const ATTEMPTS = 50;

/**
 * A port of 127.0.0.1 that nobody listens on, for a program that cannot say itself which one it got. Taken from below
 * the range that the kernel gives to outgoing connections, so that none of those takes it meanwhile.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const probe = createServer();
    const port = await listen(probe, randomInt(10_000, 30_000)).catch(() => undefined);
    if (port === undefined) continue;
    await new Promise<void>((resolve) => probe.close(() => resolve()));
    return port;
  }
  throw new Error(`no free port found in ${ATTEMPTS} attempts`);
}
