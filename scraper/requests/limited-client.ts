import type { Asking, FairSemaphore } from '../limits/fair-semaphore.ts';
import type { HttpClient } from './http-client.ts';

/**
 * A client whose requests have a permit each. Their time limits begin when they are sent. Who waits for memory has no
 * permit meanwhile: those who could give some back may be waiting for one.
 */
export function limited(client: HttpClient, permits: FairSemaphore, asking: Asking): HttpClient {
  return {
    async send(request, signal) {
      let release = await permits.take(asking, signal);
      const { memory } = request;
      const room = memory && {
        async take(bytes: number, until: AbortSignal) {
          if (memory.takeNow(bytes)) return;
          release();
          await memory.take(bytes, until);
          release = await permits.take(asking, until);
        },
        takeNow: (bytes: number) => memory.takeNow(bytes),
      };
      try {
        return await client.send({ ...request, memory: room }, signal);
      } finally {
        release();
      }
    },
  };
}
