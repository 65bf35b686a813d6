import { once } from 'node:events';

/** Lets V8's inspector listen; the address is written to the log. It costs nothing while nobody is connected. */
export const inspectorFlag = '--inspect=127.0.0.1:0';

/** The inspector's address in what a process wrote, or undefined. */
export function inspectorUrl(log: string): string | undefined {
  return /^Debugger listening on (ws:\/\/127\.0\.0\.1:\S+)$/m.exec(log)?.[1];
}

/**
 * Makes a process collect all its garbage (Chrome DevTools Protocol, HeapProfiler.collectGarbage). What is resident then
 * is in use: otherwise the slack of the heap, tens of MiB that come and go, hides what is measured.
 *
 * @throws when there is no answer within ten seconds
 */
export async function collectGarbage(url: string, signal: AbortSignal): Promise<void> {
  const either = AbortSignal.any([signal, AbortSignal.timeout(10_000)]);
  const socket = new WebSocket(url);
  try {
    await once(socket, 'open', { signal: either });
    const answered = once(socket, 'message', { signal: either });
    socket.send(JSON.stringify({ id: 1, method: 'HeapProfiler.collectGarbage' }));
    await answered;
  } finally {
    socket.close();
  }
}
