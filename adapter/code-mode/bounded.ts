/** UTF-8 bytes of one answer. */
export const MAX_ANSWER_BYTES = 200_000;

export interface Bounded {
  readonly text: string;
  /** How many of the items stand in the text; the first ones do. */
  readonly shown: number;
}

/** As many of the items, whole, as fit into an answer; none after one that is not written. The others are not even tried. */
export function* bounded<T>(
  items: readonly T[],
  write: (item: T) => string | undefined,
  separator: string,
): Generator<void, Bounded> {
  const parts: string[] = [];
  let bytes = 0;
  for (const item of items) {
    const part = write(item);
    if (part === undefined) break;
    bytes += Buffer.byteLength(part) + separator.length;
    if (bytes > MAX_ANSWER_BYTES) break;
    parts.push(part);
    yield;
  }
  return { text: parts.join(separator), shown: parts.length };
}
