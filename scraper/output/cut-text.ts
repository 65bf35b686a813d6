/** Characters of an attribute's value, counted as the limit of OpenTelemetry's SDKs counts them. */
export const MOST_CHARS = 1024;

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code < 0xdc00;

/** The beginning of a longer text, without half of a character at its end. */
export function cutText(text: string): string {
  if (text.length <= MOST_CHARS) return text;
  const end = isHighSurrogate(text.charCodeAt(MOST_CHARS - 1)) ? MOST_CHARS - 1 : MOST_CHARS;
  // A slice would keep the whole text in memory; a copy does not.
  return JSON.parse(JSON.stringify(text.slice(0, end))) as string;
}
