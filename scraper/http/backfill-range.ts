import { parseIsoTime } from '../times/strptime.ts';
import { Refusal } from '../../lib/http/answer.ts';

export interface BackfillRange {
  readonly start: Date;
  readonly end: Date;
}

const FORM = 'such as {"start": "2026-01-01T00:00:00Z", "end": "2026-01-02T00:00:00Z"}';

/**
 * The range that a body asks for.
 *
 * @throws Refusal with what is wrong with it
 */
export function backfillRange(body: Readonly<Record<string, unknown>>, now: Date): BackfillRange {
  const unknown = Object.keys(body).find((key) => key !== 'start' && key !== 'end');
  if (unknown !== undefined) {
    throw new Refusal(400, `${JSON.stringify(unknown.slice(0, 40))} is not known: the body has start and end, ${FORM}`);
  }
  const range = { start: time(body, 'start'), end: time(body, 'end') };
  if (range.start >= range.end) throw new Refusal(400, 'start must be before end');
  if (range.end > now) {
    throw new Refusal(400, `end lies in the future; it is ${now.toISOString()} now, and what comes is scraped anyway`);
  }
  return range;
}

function time(body: Readonly<Record<string, unknown>>, key: 'start' | 'end'): Date {
  if (!Object.hasOwn(body, key)) throw new Refusal(400, `${key} is missing: the body has start and end, ${FORM}`);
  const text = body[key];
  const nanoseconds = typeof text === 'string' ? parseIsoTime(text) : undefined;
  if (nanoseconds === undefined) throw new Refusal(400, `${key} must be a time in ISO 8601, ${FORM}`);
  return new Date(Number(nanoseconds / 1_000_000n));
}
