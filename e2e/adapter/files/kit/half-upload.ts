import { request } from 'node:http';
import { expect } from 'vitest';
import { contentOf } from '../../../support/file-tools.ts';
import { eventually } from '../../kit/eventually.ts';
import type { Place } from '../../kit/session.ts';
import { lying } from './folder.ts';
import { END, filePart, MULTIPART } from './multipart.ts';

/** An upload whose second half waits. */
export interface HalfUpload {
  /** Resolves when something of it lies on the disk, under whatever name. */
  begun(root: string): Promise<void>;
  /** Sends the rest; resolves with status and body of the answer. */
  finish(): Promise<[number, unknown]>;
  /** Resolves with status and body of an answer that does not wait for the rest. */
  answered(): Promise<[number, unknown]>;
  /** Breaks the connection. */
  abort(): void;
}

/** Sends the first half of `slow.bin`, with the bytes of `contentOf('slow', size)`. */
export function startHalfUpload(place: Place, sessionId: string, size: number): HalfUpload {
  const whole = Buffer.concat([filePart('slow.bin', contentOf('slow', size)), END]);
  const middle = whole.length / 2;
  const answer = Promise.withResolvers<[number, unknown]>();
  answer.promise.catch(() => undefined);
  let answered = false;
  const headers = { 'content-type': MULTIPART, 'mcp-session-id': sessionId };
  const req = request(`${place.url}/upload/up`, { method: 'POST', headers }, (res) => {
    answered = true;
    const chunks: Buffer[] = [];
    res.on('data', (chunk: Buffer) => chunks.push(chunk));
    res.on('end', () => answer.resolve([res.statusCode ?? 0, JSON.parse(Buffer.concat(chunks).toString())]));
    res.on('error', answer.reject);
  });
  req.on('error', (error) => {
    // The rest of what was refused has nowhere to go.
    if (!answered) answer.reject(error);
  });
  req.write(whole.subarray(0, middle));
  return {
    begun: async (root) => {
      const path = expect.stringContaining(sessionId) as string;
      await eventually(() => lying(root), 20).toContainEqual(expect.objectContaining({ path }));
    },
    finish() {
      if (!answered) req.end(whole.subarray(middle));
      return answer.promise;
    },
    answered: () => answer.promise,
    abort: () => void req.destroy(),
  };
}
