import { setTimeout as delay } from 'node:timers/promises';

import { ApiError } from '../../../kubernetes/kubernetes.ts';
import { type LogLine, logLine, merged } from './merged.ts';

/** Lines of one request that pods write within this time stand together. */
const BATCH_MS = 500;
/** How often pods are looked for that were not there before. */
const LOOK_MS = 5_000;
/** A line that is longer is nobody's. */
const MAX_LINE_CHARS = 1 << 20;

export interface Followed {
  /** Names of the pods that there are now. */
  readonly pods: () => Promise<readonly string[]>;
  /** What a pod writes from now on, and before as asked; `isLate`: it was not there at the start, all of it is wanted. */
  readonly log: (pod: string, isLate: boolean) => AsyncIterable<Uint8Array>;
  readonly print: (line: LogLine) => void;
  readonly signal: AbortSignal;
  readonly lookMs?: number;
}

/** Prints what all pods write until the signal, those too that come later. Rejects where the first logs cannot be read. */
export async function follow({ pods, log, print, signal, lookMs = LOOK_MS }: Followed): Promise<void> {
  let waiting: LogLine[] = [];
  const flush = (): void => {
    const lines = waiting;
    waiting = [];
    for (const line of merged(lines)) print(line);
  };
  const timer = setInterval(flush, BATCH_MS);
  const known = new Set<string>();
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  const begin = (pod: string, isLate: boolean): void => {
    known.add(pod);
    linesOf(log(pod, isLate), (text) => waiting.push(logLine(pod, text))).catch((error: unknown) => {
      if (signal.aborted) return;
      // A pod that starts has no log yet, and one that has gone has none any more.
      if (error instanceof ApiError && (error.code === 400 || error.code === 404)) known.delete(pod);
      else failed.reject(error);
    });
  };
  try {
    for (let isLate = false; ; isLate = true) {
      // oxlint-disable-next-line no-await-in-loop -- one look after the other
      for (const pod of await pods()) if (!known.has(pod)) begin(pod, isLate);
      // oxlint-disable-next-line no-await-in-loop
      await Promise.race([delay(lookMs, undefined, { signal }), failed.promise]);
    }
  } catch (error) {
    // Whoever follows ends it by a signal.
    if (!signal.aborted) throw error;
  } finally {
    clearInterval(timer);
    flush();
  }
}

async function linesOf(log: AsyncIterable<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const part of log) {
    const lines = (rest + decoder.decode(part, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE_CHARS) rest = '';
    for (const line of lines) if (line !== '') onLine(line);
  }
}
