import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { BlockList, isIPv6, type Socket } from 'node:net';

import { holdSocket } from './hold-socket.ts';

/** Requests of one connection that may be unanswered at once; what a client sends on top of them waits, unread. */
const MAX_PIPELINED = 8;
/**
 * Requests that wait, of all connections together: node parses all that have come in one packet, where small ones are some
 * thousands.
 */
const MAX_WAITING = 4096;
/**
 * So long may a connection stay unread on which no answer leaves: whether its client is still there shows only where one
 * reads.
 */
const MAX_UNREAD_MS = 60_000;
/** How often it is said that connections are refused. */
const TELL_MS = 60_000;

export interface ConnectionLimits {
  /** `core.max_connections` */
  readonly max: number;
  /** `core.max_connections_per_peer` */
  readonly perPeer: number | null;
  /** Behind these are many others, so only the total holds for them. */
  readonly isProxy: (address: string) => boolean;
  readonly warn: (message: string) => void;
}

interface Pipelining {
  readonly maxWaiting: number;
  readonly maxUnreadMs: number;
}

interface Connection {
  readonly socket: Socket;
  readonly peer: string;
  /** Requests that are worked on. */
  running: number;
  /** While there are any, nothing is read. */
  waiting: Waiting | undefined;
}

interface Waiting {
  readonly requests: [IncomingMessage, ServerResponse][];
  /** Ends the connection. */
  readonly timer: NodeJS.Timeout;
  /** The connection may be read on. */
  readonly release: () => void;
}

/**
 * How many connections there may be, and how much one of them may ask for at once. Node starts each request as soon as it
 * is parsed, however many answers the client has not read yet.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #handler: RequestListener;
  readonly #pipelining: Pipelining;
  /** In the order in which they came. */
  readonly #open = new Set<Connection>();
  readonly #of = new WeakMap<Socket, Connection>();
  readonly #perPeer = new Map<string, number>();
  #waiting = 0;
  #loggedAt = -Infinity;

  constructor(limits: ConnectionLimits, handler: RequestListener, pipelining: Partial<Pipelining> = {}) {
    this.#limits = limits;
    this.#handler = handler;
    this.#pipelining = { maxWaiting: MAX_WAITING, maxUnreadMs: MAX_UNREAD_MS, ...pipelining };
  }

  get size(): number {
    return this.#open.size;
  }

  /** A connection that has just been accepted. Where there are too many, one without a request goes, or else this one. */
  readonly accept = (socket: Socket): void => {
    const { max, perPeer, isProxy } = this.#limits;
    const peer = socket.remoteAddress ?? '';
    const isCounted = perPeer !== null && !isProxy(peer);
    const count = isCounted ? (this.#perPeer.get(peer) ?? 0) : 0;
    const isOver =
      (isCounted && count >= perPeer && 'core.max_connections_per_peer') ||
      (this.#open.size >= max && 'core.max_connections');
    if (isOver !== false) {
      this.#logFull(isOver);
      const idle = this.#oldestIdle(isOver === 'core.max_connections' ? undefined : peer);
      if (idle === undefined) {
        socket.destroy();
        return;
      }
      this.#forget(idle);
      idle.socket.destroy();
    }
    const connection: Connection = { socket, peer, running: 0, waiting: undefined };
    this.#open.add(connection);
    this.#of.set(socket, connection);
    if (perPeer !== null) this.#perPeer.set(peer, (this.#perPeer.get(peer) ?? 0) + 1);
    socket.once('close', () => this.#forget(connection));
  };

  /** A request whose head has been read. */
  readonly serve: RequestListener = (request, response) => {
    const connection = this.#of.get(request.socket);
    if (connection === undefined) return this.#handler(request, response);
    if (connection.running < MAX_PIPELINED && connection.waiting === undefined) {
      this.#start(connection, request, response);
      return undefined;
    }
    // What came in the same packet has been parsed already, and waits here.
    if (this.#waiting < this.#pipelining.maxWaiting) this.#wait(connection, request, response);
    else connection.socket.destroy();
    return undefined;
  };

  #wait(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    const { socket } = connection;
    if (connection.waiting === undefined) {
      const timer = setTimeout(() => void socket.destroy(), this.#pipelining.maxUnreadMs).unref();
      connection.waiting = { requests: [], timer, release: holdSocket(socket) };
    }
    connection.waiting.requests.push([request, response]);
    this.#waiting++;
  }

  #endWait(connection: Connection): void {
    const { waiting } = connection;
    if (waiting === undefined) return;
    connection.waiting = undefined;
    this.#waiting -= waiting.requests.length;
    clearTimeout(waiting.timer);
    waiting.release();
  }

  #start(connection: Connection, request: IncomingMessage, response: ServerResponse): void {
    connection.running++;
    response.on('close', () => {
      connection.running--;
      this.#next(connection);
    });
    this.#handler(request, response);
  }

  #next(connection: Connection): void {
    const { waiting, socket } = connection;
    if (waiting === undefined) return;
    if (socket.destroyed) return this.#endWait(connection);
    waiting.timer.refresh();
    const next = waiting.requests.shift();
    if (next !== undefined) this.#waiting--;
    if (waiting.requests.length === 0) {
      this.#endWait(connection);
      socket.resume();
    }
    if (next !== undefined) this.#start(connection, ...next);
  }

  #oldestIdle(peer: string | undefined): Connection | undefined {
    for (const one of this.#open) if (one.running === 0 && (peer === undefined || one.peer === peer)) return one;
    return undefined;
  }

  #forget(connection: Connection): void {
    this.#endWait(connection);
    if (!this.#open.delete(connection)) return;
    const { peer } = connection;
    const left = (this.#perPeer.get(peer) ?? 0) - 1;
    if (left > 0) this.#perPeer.set(peer, left);
    else this.#perPeer.delete(peer);
  }

  #logFull(field: string): void {
    const now = performance.now();
    if (now - this.#loggedAt < TELL_MS) return;
    this.#loggedAt = now;
    this.#limits.warn(`there are as many connections as ${field} allows; idle ones are closed, or new ones refused`);
  }
}

const RANGES: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/** Whether an address is one of `core.trusted_proxies`. */
export function proxyAddresses(trusted: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const one of trusted.flatMap((entry) => RANGES[entry] ?? [entry])) {
    const [address = '', length] = one.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (length === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(length), family);
  }
  return (address) => address !== '' && list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}
