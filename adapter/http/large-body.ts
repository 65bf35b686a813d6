import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import { SmallParts } from '../../lib/stream/small-parts.ts';
import { turnBudget } from '../../lib/stream/turn-budget.ts';
import { holdForTurn } from './hold-socket.ts';
import { LARGE_BODY_BYTES, LINGER_BYTES } from '../limits.ts';

/** How long, and how much, is read from a client that is still sending when it has its answer already. */
const LINGER_MS = 5_000;
const LINGER_SMALL_PARTS = 256;

const slow = new WeakSet<Socket>();

/**
 * Asks for a body and lifts the time limit that is right for all others, up to when the returned function is called:
 * who reads it must have a limit of its own.
 */
export function readSlowly(request: IncomingMessage, response: ServerResponse): () => void {
  const { socket } = request;
  slow.add(socket);
  askForBody(request, response);
  return () => void slow.delete(socket);
}

/** Tells a client that waits to be told that its body is wanted (RFC 9110, section 10.1.1). */
export function askForBody({ headers, httpVersion }: IncomingMessage, response: ServerResponse): void {
  if (headers.expect !== undefined && httpVersion === '1.1') response.writeContinue();
}

export function isReadSlowly(socket: Socket): boolean {
  return slow.has(socket);
}

/**
 * Sends a whole answer, also to a request whose body is unread. Such a connection ends with the answer, but not at once:
 * closing it while bytes come in makes the system reset it, and the answer would be lost with it. So what the client
 * still sends is read and dropped for a while (RFC 9112, section 9.6). `headers` need no Content-Length.
 */
export async function answerEarly(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<void> {
  const length = { 'content-length': Buffer.byteLength(body) };
  if (request.complete || !hasBody(request)) {
    // What came of the body and was not read would keep the next request of this connection from being read.
    request.resume();
    response.writeHead(status, { ...headers, ...length }).end(body);
    return;
  }
  response.writeHead(status, { ...headers, ...length, connection: 'close' });
  response.write(body);
  await drained(request);
  response.end();
}

/** Whether what is still to come of this request is too much to be read and dropped beside its answer. */
export function bringsLargeBody({ headers, complete }: IncomingMessage): boolean {
  if (complete) return false;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > LARGE_BODY_BYTES;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function drained(request: IncomingMessage): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let dropped = 0;
  const small = new SmallParts(LINGER_SMALL_PARTS);
  const onData = (chunk: Buffer): void => {
    dropped += chunk.length;
    if (dropped > LINGER_BYTES || small.reached(chunk.length)) resolve();
    else if (turnBudget.isSpentBy(chunk.length)) holdForTurn(request.socket);
  };
  const end = (): void => resolve();
  const timer = setTimeout(end, LINGER_MS);
  request.on('data', onData).once('end', end).once('error', end).once('close', end);
  request.resume();
  return promise.finally(() => {
    clearTimeout(timer);
    request.off('data', onData).off('end', end).off('close', end);
    request.pause();
  });
}
