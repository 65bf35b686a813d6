/** UTF-8 bytes of one answer. */
export const MAX_ANSWER_BYTES = 200_000;

export interface Bounded {
  readonly text: string;
  /** How many of the items stand in the text; the first ones do. */
  readonly shown: number;
}

/** As many of the items, whole, as fit into an answer. The others are not even written. */
export function bounded<T>(items: readonly T[], write: (item: T) => string, separator: string): Bounded {
  const parts: string[] = [];
  let bytes = 0;
  for (const item of items) {
    const part = write(item);
    bytes += Buffer.byteLength(part) + separator.length;
    if (bytes > MAX_ANSWER_BYTES) break;
    parts.push(part);
  }
  return { text: parts.join(separator), shown: parts.length };
}
