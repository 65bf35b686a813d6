/**
 * Ids of log entries, in the form of Redis stream ids: `<milliseconds>-<sequence>`. They grow also over a restart of
 * the process, so that an id that a client kept never hides new entries.
 */
export function nextLogId(last: string, now: number): string {
  const [lastMs, lastSequence] = parse(last) ?? [0, 0];
  return now > lastMs ? `${now}-0` : `${lastMs}-${lastSequence + 1}`;
}

/** Whether `id` comes after `other`. Nothing comes after a text that is no id: a client may send any. */
export function logIdAfter(id: string, other: string): boolean {
  const left = parse(id);
  const right = parse(other);
  if (left === undefined || right === undefined) return false;
  return left[0] > right[0] || (left[0] === right[0] && left[1] > right[1]);
}

export const isLogId = (text: string): boolean => parse(text) !== undefined;

function parse(id: string): [number, number] | undefined {
  const match = /^(\d{1,15})-(\d{1,15})$/.exec(id);
  return match === null ? undefined : [Number(match[1]), Number(match[2])];
}
