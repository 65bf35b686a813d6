import { setTimeout as delay } from 'node:timers/promises';

export interface StartupHealth {
  ready_within_wait_budget: boolean;
  max_start_wait_seconds: number;
  waited_seconds: number;
  not_ready_servers: string[];
}

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 5000;

/**
 * Waits until every upstream has answered once (specification, section 2.1, `max_start_wait_seconds`): tries again
 * with pauses of 1, 2, 4, then 5 seconds. The port is open meanwhile.
 */
export async function startupWait(
  servers: readonly { readonly id: string; ping(): Promise<boolean> }[],
  maxSeconds: number,
  signal: AbortSignal,
): Promise<StartupHealth> {
  const started = performance.now();
  const left = (): number => maxSeconds * 1000 - (performance.now() - started);
  let missing = [...servers];
  if (maxSeconds > 0) {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const answers = await Promise.all(missing.map(async (server) => [server, await server.ping()] as const));
      missing = answers.filter(([, ok]) => !ok).map(([server]) => server);
      if (missing.length === 0 || left() <= 0 || signal.aborted) break;
      try {
        await delay(Math.min(pause, Math.max(0, left())), undefined, { signal, ref: false });
      } catch {
        break;
      }
    }
  }
  return {
    ready_within_wait_budget: maxSeconds === 0 || missing.length === 0,
    max_start_wait_seconds: maxSeconds,
    waited_seconds: Math.round(performance.now() - started) / 1000,
    not_ready_servers: maxSeconds === 0 ? [] : missing.map(({ id }) => id),
  };
}
