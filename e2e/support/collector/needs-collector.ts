import { beforeAll, beforeEach } from 'vitest';
import { buildCollector, COLLECTOR_START_MS, whyNoCollector } from './collector.ts';

/** To be called at the top of a file: without a collector its tests are skipped. */
export function needsCollector(): void {
  let why: string | undefined;
  beforeAll(async () => {
    why = await whyNoCollector();
    if (why === undefined) await buildCollector();
  }, COLLECTOR_START_MS);
  beforeEach(({ skip }) => {
    if (why !== undefined) skip(why);
  });
}
