import { type Baseline, baselineOf, pinOf } from '../baseline.ts';

/** @param tools definitions (JSON texts) */
export function baselineOfTexts(tools: readonly string[]): Baseline {
  return baselineOf(tools.map((tool) => pinOf(tool)));
}
