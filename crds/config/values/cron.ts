/** Least and greatest value of each field, and the names that it knows, counted from its least value. */
const FIELDS: readonly { min: number; max: number; names: readonly string[] }[] = [
  { min: 0, max: 59, names: [] },
  { min: 0, max: 23, names: [] },
  { min: 1, max: 31, names: [] },
  { min: 1, max: 12, names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'] },
  { min: 0, max: 7, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
];

const PART = /^(?:\*|(?<first>\w+)(?:-(?<last>\w+))?)(?:\/(?<step>\d+))?$/;

/** Whether the text is a cron expression: five fields of `*`, numbers, names, ranges, lists and steps. */
export function isCron(text: string): boolean {
  const fields = text.trim().split(/\s+/);
  return fields.length === FIELDS.length && fields.every((field, index) => isField(field, index));
}

function isField(field: string, index: number): boolean {
  const { min, max, names } = FIELDS[index] ?? { min: 0, max: 0, names: [] };
  const valueOf = (word: string): number => {
    const named = names.indexOf(word.toLowerCase());
    if (named >= 0) return named + min;
    return /^\d+$/.test(word) && Number(word) >= min && Number(word) <= max ? Number(word) : Number.NaN;
  };
  return field.split(',').every((part) => {
    const match = PART.exec(part);
    if (match === null) return false;
    const { first, last, step } = match.groups ?? {};
    if (step !== undefined && Number(step) < 1) return false;
    if (first === undefined) return true;
    return last === undefined ? !Number.isNaN(valueOf(first)) : valueOf(first) <= valueOf(last);
  });
}
