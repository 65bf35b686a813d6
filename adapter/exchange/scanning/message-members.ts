/** The members of a message, as bits. */
export const ID = 1;
export const METHOD = 2;
export const RESULT = 4;
export const ERROR = 8;
export const MEMBERS: ReadonlyMap<string, number> = new Map([
  ['id', ID],
  ['method', METHOD],
  ['result', RESULT],
  ['error', ERROR],
  ['params', 16],
  ['jsonrpc', 32],
]);

/** `other`: a request or a notification. */
export type KindOfMembers = 'result' | 'error' | 'other';

/**
 * What a message is by the members that it has; undefined where two readers could see different things in it.
 * @param nulls those whose value is null
 * @param hasId it has an id that is not null
 */
export function kindOfMembers(seen: number, nulls: number, hasId: boolean): KindOfMembers | undefined {
  const has = (member: number): boolean => (seen & member) !== 0;
  const isNull = (member: number): boolean => (nulls & member) !== 0;
  // Some write the one of `result` and `error` that is missing as null.
  const isError = has(ERROR) && !(has(RESULT) && isNull(ERROR));
  const isResult = has(RESULT) && !(isError && isNull(RESULT));
  if (has(METHOD)) return isResult || isError ? undefined : 'other';
  if (isResult === isError || (isResult && !hasId)) return undefined;
  return isResult ? 'result' : 'error';
}
