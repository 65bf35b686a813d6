import { ANSWER_LIMITS, parseJson } from '../../lib/json/json-limits.ts';
import { upstreamNotJson } from '../errors.ts';
import { locate, splice } from '../exchange/scanning/json-scan.ts';
import { type OwnCapabilities, withCapabilities } from './capabilities.ts';
import type { FirstSeen, ServerTexts } from './server-texts.ts';

/** The answer to `initialize` or `server/discover` (JSON text) as the client gets it. */
export async function withGreeting(
  texts: Pick<ServerTexts, 'any' | 'greeting'>,
  answer: string,
  first: FirstSeen | undefined,
  own: OwnCapabilities,
): Promise<string> {
  const result = texts.any ? locate(answer, ['result']) : undefined;
  if (result === undefined || answer.charAt(result.start) !== '{') return withCapabilities(answer, own);
  if (!isJson(answer)) throw upstreamNotJson();
  const text = answer.slice(result.start, result.end);
  const shown = await texts.greeting(text, first);
  return withCapabilities(shown === text ? answer : splice(answer, [{ ...result, with: shown }]), own);
}

/** Where something stands in a text can be said of JSON only. */
function isJson(text: string): boolean {
  try {
    parseJson(text, ANSWER_LIMITS);
    return true;
  } catch {
    return false;
  }
}
