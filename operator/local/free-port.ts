import { createServer } from 'node:net';

/** The port when nobody listens on it on this machine, else undefined. */
export function portIfFree(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(undefined));
    probe.listen(port, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined));
    });
  });
}

/** The wanted port, or a free one when somebody has it. 0 always takes a free one. */
export async function freePort(wanted: number): Promise<number> {
  const port = (await portIfFree(wanted)) ?? (await portIfFree(0));
  if (port === undefined) throw new Error('no TCP port of 127.0.0.1 is free');
  return port;
}
