import { isIP } from 'node:net';

import type { RedisOptions } from 'ioredis';

/** Where Redis or Valkey is. */
export interface RedisServer {
  readonly host: string;
  readonly port: number;
  readonly db: number;
  readonly username: string | null;
  readonly password: string | null;
  /** `verified` checks the server's certificate against the system's authorities; `insecure` takes any. */
  readonly tls: 'off' | 'verified' | 'insecure';
}

/** Of a connection, in milliseconds. */
export interface RedisTimes {
  readonly connect: number;
  readonly command: number;
  /** A connection that answers nothing for so long while a command waits is given up for a new one. */
  readonly silence: number;
  /** Before the next attempt to connect, counted from 1. */
  readonly retry: (attempt: number) => number;
}

/** A connection that reconnects by itself for ever, and on which nothing waits but what its owner lets wait. */
export function redisOptions(server: RedisServer, times: RedisTimes): RedisOptions {
  const { host, port, db, username, password, tls } = server;
  // RFC 6066, section 3: an address is no server name; the certificate is checked against it all the same.
  const servername = isIP(host) === 0 ? host : undefined;
  return {
    host,
    port,
    db,
    username: username ?? undefined,
    password: password === null || password === '' ? undefined : password,
    tls: tls === 'off' ? undefined : { rejectUnauthorized: tls === 'verified', servername },
    lazyConnect: true,
    connectTimeout: times.connect,
    commandTimeout: times.command,
    socketTimeout: times.silence,
    retryStrategy: times.retry,
    // A server that still loads says so to the first command; asking with INFO takes a right that nothing else needs.
    enableReadyCheck: false,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // Whoever subscribes must also fetch what was missed.
    autoResubscribe: false,
  };
}
