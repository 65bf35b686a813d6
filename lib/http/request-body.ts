import type { IncomingMessage } from 'node:http';
import { isObject } from '../json/json-object.ts';
import { Refusal } from './answer.ts';

/** The longest body that is read where a route says nothing else; what is asked for here are a few words. */
export const MAX_BODY_BYTES = 64 * 1024;
/** How much of a longer one is taken in and thrown away, so that its sender gets to read the answer. */
const MAX_DISCARDED_BYTES = 4 * 1024 * 1024;

const tooLarge = (most: number): Refusal => new Refusal(413, `The body is longer than ${most} bytes`);

/** @throws Refusal when it is too long */
export async function readBody(request: IncomingMessage, most: number = MAX_BODY_BYTES): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > most) throw tooLarge(most);
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    parts.push(part as Buffer);
    bytes += (part as Buffer).length;
    if (bytes > most) throw tooLarge(most);
  }
  return Buffer.concat(parts);
}

/** Takes the rest of a body that nobody wants; ends the connection when there is too much of it. */
export function discardBody(request: IncomingMessage): void {
  let bytes = 0;
  request.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes > MAX_DISCARDED_BYTES) request.destroy();
  });
  request.resume();
}

/**
 * The body as a JSON object.
 *
 * @throws Refusal when it is none
 */
export function jsonObject({ body, contentType }: { body: Buffer; contentType: string }): Record<string, unknown> {
  if (contentType !== '' && contentType !== 'application/json') {
    throw new Refusal(415, 'The body must be JSON, sent with the header Content-Type: application/json');
  }
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new Refusal(400, body.length === 0 ? 'The request needs a JSON object as its body' : 'The body is not JSON');
  }
  if (isObject(value)) return value;
  throw new Refusal(400, 'The body must be a JSON object');
}
