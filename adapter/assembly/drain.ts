import type { FastifyInstance } from 'fastify';

import type { Sandbox } from '../code-mode/sandbox/sandbox.ts';
import type { RunningExchanges } from '../exchange/running.ts';
import type { Uploads } from '../files/uploads/uploads.ts';
import type { RunningDownloads } from '../http/running-downloads.ts';
import { clientsGone, closeServer } from '../http/server.ts';

/**
 * How long answers that are under way may take to leave at the end. Longer than the state store may take to give a
 * call's place back, which comes before the last byte.
 */
const FLUSH_MS = 3_000;
/**
 * How long clients that keep idle connections have to use them once more and be told that they are at their end, or to
 * close them: longer than the 5 s that they were told to keep them.
 */
const LEAVE_MS = 6_000;

export interface DrainDeps {
  /** Undefined where there was never one to listen. */
  readonly app: FastifyInstance | undefined;
  readonly running: RunningExchanges;
  /** Undefined where nothing stores files. */
  readonly uploads: Uploads | undefined;
  readonly downloads: RunningDownloads;
  readonly sandbox: Sandbox;
  /** Lets nothing wait any more for a state store that is down. */
  readonly endWaits: () => void;
  /** How long what runs may go on, in milliseconds. */
  readonly graceMs: number;
}

/** Lets what runs for clients end within the grace period, ends the rest and all streams, and closes the port. */
export async function drain(parts: DrainDeps): Promise<void> {
  const { app, running, uploads, downloads, sandbox, endWaits, graceMs } = parts;
  const grace = AbortSignal.timeout(graceMs);
  grace.addEventListener('abort', endWaits);
  const idle = async (): Promise<void> => {
    do {
      await Promise.all([running.idle(grace), uploads?.idle(grace), downloads.idle(grace)]);
    } while (running.posts > 0 && !grace.aborted);
  };
  const endStreams = (): void => {
    for (const one of running.all()) if (one.isGet || grace.aborted) one.endStream();
  };
  await idle();
  // Code that runs when the time is over would only see its calls fail, and go on.
  if (grace.aborted) await sandbox.close();
  endStreams();
  // Answers that began before have promised to keep their connections open, those of the ended streams too.
  const streams = (): number => running.all().filter((one) => one.isGet).length;
  if (app !== undefined) await clientsGone(app, streams, Math.min(LEAVE_MS, graceMs));
  await idle(); // of those that came in the meantime
  endStreams();
  // It would go on calling tools, and its clients would be left without an answer.
  await sandbox.close();
  await uploads?.close();
  endWaits();
  if (app !== undefined) await closeServer(app, FLUSH_MS);
}
