import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

/**
 * Connections that wait to be accepted. Of Node's own 511, a flood leaves none for a probe whenever the event loop is held for a
 * moment: the kernel drops who comes, and who was dropped asks again after one, three, seven seconds.
 */
export const BACKLOG = 4096;

/**
 * Opens a port; 0 stands for any that is free. Without a host: all addresses.
 * @throws when it is taken
 */
export async function listen(server: Server, port: number, host?: string): Promise<AddressInfo> {
  const listening = once(server, 'listening');
  server.listen({ host, port, backlog: BACKLOG });
  await listening;
  return server.address() as AddressInfo;
}
