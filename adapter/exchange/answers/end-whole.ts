import type { ServerResponse } from 'node:http';

import type { ByteShare, Holder } from '../../byte-account.ts';
import { UNCOUNTED_BYTES } from '../../limits.ts';
import { whileLeaving } from './unread.ts';

/** Up to this size copying is cheaper than a gathering write. */
const JOIN_BYTES = 16 << 10;

/**
 * A small answer as one string that node joins with the head: one write to the socket instead of buffers gathered. A
 * large one in the parts that it came in, gathered by the kernel: joining them first would copy every byte once more.
 *
 * @param kept what has been counted of it
 */
export function endWhole(
  res: ServerResponse,
  body: readonly Buffer[],
  size: number,
  holder: Holder,
  kept?: ByteShare,
): void {
  const [first] = body;
  if (size <= JOIN_BYTES) {
    const whole = body.length > 1 ? Buffer.concat(body, size) : first;
    res.end(whole?.toString('latin1'), 'latin1');
  } else {
    res.cork();
    for (const part of body) res.write(part);
    res.end();
  }
  whileLeaving(res, holder, kept);
}

/**
 * Sends an answer that is there as a whole, and counts it until it has left. False: there is no room for so much, and nothing has
 * been sent.
 * @param writeHead takes its length in bytes
 */
export function sendWhole(
  res: ServerResponse,
  body: string | readonly Buffer[],
  holder: Holder,
  writeHead: (size: number) => void,
): boolean {
  const parts = typeof body === 'string' ? [Buffer.from(body)] : body;
  let size = 0;
  for (const part of parts) size += part.length;
  const kept = size > UNCOUNTED_BYTES ? holder.share('answers') : undefined;
  if (kept?.take(size) === false) return false;
  writeHead(size);
  endWhole(res, parts, size, holder, kept);
  return true;
}
