import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

import type { StreamedAnswer } from './answer.ts';
import type { Holder } from '../../byte-account.ts';
import { ReplyStream } from './reply-stream.ts';
import { endIfStalled } from './unread.ts';

/** What is written: bytes, or characters of ASCII, which leave without becoming a Buffer that has to be collected. */
export type Part = Buffer | string;

/**
 * Gives each part but the last to `write`, and returns the last: there may be something left to do before the client
 * can think that the answer is complete. Undefined when `write` has returned false, because nobody wants more. Fails
 * when the parts do, and when they are not as many bytes as they were said to be.
 */
export async function sendParts(
  answer: StreamedAnswer,
  write: (part: Part) => Promise<boolean>,
): Promise<Part | undefined> {
  let size = 0;
  let last: Part | undefined;
  for await (const part of answer.parts) {
    if (part.length === 0) continue;
    const length = Buffer.byteLength(part);
    const bytes = typeof part === 'string' && length > part.length ? Buffer.from(part) : part;
    size += length;
    if (answer.bytes !== undefined && size > answer.bytes) throw wrongSize(answer.bytes, size);
    if (last !== undefined && !(await write(last))) return undefined;
    last = bytes;
  }
  if (answer.bytes !== undefined && size !== answer.bytes) throw wrongSize(answer.bytes, size);
  return last ?? '';
}

/**
 * Answers with a body that is streamed, no faster than the client takes it. False: the client went away. Fails as the
 * parts do, after the connection was destroyed.
 */
export async function streamAnswer(
  reply: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders,
  answer: StreamedAnswer,
  holder?: Holder,
): Promise<boolean> {
  try {
    reply.writeHead(status, answer.bytes === undefined ? headers : { ...headers, 'content-length': answer.bytes });
    const stream = new ReplyStream(reply, NOTHING_TO_HOLD, false, holder);
    const last = await sendParts(answer, async (part) => {
      stream.write(part, answer.releasable);
      await stream.drained();
      return !reply.destroyed;
    });
    if (last === undefined) return false;
    endIfStalled(reply);
    reply.end(last, 'latin1');
    return true;
  } catch (error) {
    reply.destroy();
    throw error;
  }
}

const NOTHING_TO_HOLD = { hold: (): void => {}, unhold: (): void => {} };

const wrongSize = (expected: number, size: number): Error =>
  new Error(`an answer of ${expected} bytes had ${size > expected ? 'more' : `only ${size}`}`);
