import { z } from 'zod';
import { rate } from '../values/rate.ts';
import { integer, oneOf, orNull } from '../values/values.ts';

/** Lists `limits` of `core` and `servers[]`: how often tools may be called, and how many calls may run. */

/** Each is looked at for each call. */
const MAX_LIMITS = 16;
const MAX_BURST = 1_000_000;
const MAX_CONCURRENT = 100_000;

const CallLimit = z.strictObject({
  per: oneOf(['caller', 'server', 'tool', 'caller+tool']).describe(
    'Who shares the limit: calls of one `caller` (without authentication, of one address), all calls to the `server`, ' +
      'calls of one `tool`, or of one tool by one caller (`caller+tool`). Each server counts for itself.',
  ),
  rate: orNull(
    rate().describe('Calls that may begin in a time: `10/s`, `100/min`, `500/h`. Null: as many as they like.'),
  ).prefault(null),
  burst: orNull(
    integer({ min: 1, max: MAX_BURST }).describe(
      'Calls that may begin at once after a pause; from then on they come at the pace of `rate`. Null: the number in `rate`.',
    ),
  ).prefault(null),
  concurrent: orNull(
    integer({ min: 1, max: MAX_CONCURRENT }).describe(
      'Calls that may run at the same time. Null: as many as they like.',
    ),
  ).prefault(null),
});
export type CallLimit = z.output<typeof CallLimit>;

export const CallLimits = z
  .array(CallLimit, { error: 'a list of limits' })
  .max(MAX_LIMITS, { error: `a list of at most ${MAX_LIMITS} limits` });
