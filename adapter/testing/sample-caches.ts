import { Caches } from '../caches.ts';

/** Caches that no timer cleans: it would run on in the tests that the process comes to later. */
export function sampleCaches(size?: number): Caches {
  const caches = new Caches(size);
  caches.stop();
  return caches;
}
