const WORDS = /[a-z0-9]+/gi;

/** Whether a text holds letters and digits in one piece that nobody would call something. Goes over it once. */
export const hasRandomWord = (text: string, length: number): boolean =>
  (text.match(WORDS) ?? []).some((word) => word.length >= length && /\d/.test(word) && /[a-z]/i.test(word));
