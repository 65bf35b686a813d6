import { beforeAll, beforeEach } from 'vitest';
import { buildPromtool, PROMTOOL_BUILD_MS, whyNoPromtool } from './promtool.ts';

/** To be called at the top of a file: without promtool its tests are skipped. */
export function needsPromtool(): void {
  let why: string | undefined;
  beforeAll(async () => {
    why = await whyNoPromtool();
    if (why === undefined) await buildPromtool();
  }, PROMTOOL_BUILD_MS);
  beforeEach(({ skip }) => {
    if (why !== undefined) skip(why);
  });
}
