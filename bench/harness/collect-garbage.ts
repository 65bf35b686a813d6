import { once } from 'node:events';

/** Lets V8's inspector listen; the address is written to the log. It costs nothing while nobody is connected. */
export const inspectorFlag = '--inspect=127.0.0.1:0';

/** The inspector's address in what a process wrote, or undefined. */
export function inspectorUrl(log: string): string | undefined {
  return /^Debugger listening on (ws:\/\/127\.0\.0\.1:\S+)$/m.exec(log)?.[1];
}

/**
 * Makes a process collect all its garbage (Chrome DevTools Protocol, HeapProfiler.collectGarbage). What is resident then
 * is in use, or kept by the allocator: otherwise the slack of the heap, tens of MiB that come and go, hides what is measured.
 *
 * @returns bytes of values and buffers that are in use (Runtime.getHeapUsage)
 * @throws when there is no answer within ten seconds
 */
export async function collectGarbage(url: string, signal: AbortSignal): Promise<number> {
  const either = AbortSignal.any([signal, AbortSignal.timeout(10_000)]);
  const socket = new WebSocket(url);
  const ask = async (method: string): Promise<Record<string, number>> => {
    const answered = once(socket, 'message', { signal: either }) as Promise<[{ data: string }]>;
    socket.send(JSON.stringify({ id: 1, method }));
    const [{ data }] = await answered;
    return (JSON.parse(data) as { result: Record<string, number> }).result;
  };
  try {
    await once(socket, 'open', { signal: either });
    await ask('HeapProfiler.collectGarbage');
    const { usedSize = 0, backingStorageSize = 0 } = await ask('Runtime.getHeapUsage');
    return usedSize + backingStorageSize;
  } finally {
    socket.close();
  }
}
