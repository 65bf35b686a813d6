import { setTimeout as delay } from 'node:timers/promises';
import { describe, type RunningProcess } from '../../../support/processes.ts';

/** A published server over Streamable HTTP. */
export interface PublishedServer extends RunningProcess {
  readonly url: string;
}

const STARTED_MS = 60_000;
const POLL_MS = 100;

/** A server that has been started, once it listens: some of them do not say so. Rejects, and ends it, where it does not. */
export async function listening(running: RunningProcess, name: string, url: string): Promise<PublishedServer> {
  const until = performance.now() + STARTED_MS;
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- until it listens
    const isUp = await fetch(url, { method: 'POST' }).then(
      () => true,
      () => false,
    );
    if (isUp) return Object.assign(running, { url });
    if (running.hasExited() || performance.now() > until) {
      running.kill();
      throw new Error(`it does not listen: ${describe(name, running)}`);
    }
    // oxlint-disable-next-line no-await-in-loop -- the same
    await delay(POLL_MS);
  }
}
