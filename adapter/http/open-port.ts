import type { AddressInfo } from 'node:net';

import type { FastifyInstance } from 'fastify';

import { BACKLOG } from '../../lib/net/listen.ts';
import { localUrl } from '../../lib/net/local-url.ts';
import type { Listening } from './base-url.ts';

export interface OpenPort {
  readonly listening: Listening;
  /** What this machine reaches it by. */
  readonly url: string;
}

/** Opens the port; 0 stands for any that is free. @throws when it is taken */
export async function openPort(app: FastifyInstance, { host, port }: Listening): Promise<OpenPort> {
  await app.listen({ host, port, backlog: BACKLOG });
  const address = app.server.address() as AddressInfo;
  return { listening: { host, port: address.port }, url: localUrl(address.address, address.port) };
}
