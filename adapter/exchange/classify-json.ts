import type { AwaitedResponses } from './awaited-responses.ts';
import type { EnvelopeScan } from './scanning/envelope-scan.ts';
import type { Refusal } from './scanning/refusal.ts';

/** From here on a status says that there is no result; nothing but a result is then read as one. */
const NO_SUCCESS = 300;

/**
 * What a whole JSON body is that has been scanned: the awaited answer, one that was asked for elsewhere, what may pass as it
 * is because it has no contents, or why it may not pass.
 */
export function classifyJson(
  scan: EnvelopeScan,
  status: number,
  awaited: Pick<AwaitedResponses, 'isMixed' | 'sees'>,
): 'answer' | 'unsolicited' | 'pass' | Refusal {
  const isFailure = status >= NO_SUCCESS;
  // Such as the errors of OAuth.
  if (isFailure && scan.isHarmless) return 'pass';
  if (scan.problem !== undefined || !scan.isComplete) return scan.problem ?? 'malformed';
  // Requests and notifications are no answer.
  if (!scan.isResponse) return 'kind';
  // Errors may belong to no request, or to one whose id could not be read.
  if (!scan.hasResult) return isFailure ? 'pass' : 'answer';
  if (awaited.isMixed(scan.ids)) return 'unasked';
  return awaited.sees(scan.ids) ? 'answer' : 'unsolicited';
}
