/** A text of a result that may become an artifact. */
export interface SpillPart {
  readonly chars: number;
}

/** More artifacts of one result are nothing that a model could overlook: the texts become one. */
export const MAX_ARTIFACTS = 8;

/**
 * Which texts of a result have to go so that those which stay are not longer than `overChars` together, the longest first;
 * in the order of the result. A text that goes leaves a part of the preview.
 */
export function planSpill<T extends SpillPart>(parts: readonly T[], overChars: number): T[] {
  let chars = parts.reduce((sum, part) => sum + part.chars, 0);
  const gone = new Set<T>();
  for (const part of parts.toSorted((a, b) => b.chars - a.chars)) {
    if (chars <= overChars) break;
    gone.add(part);
    chars -= part.chars;
  }
  return parts.filter((part) => gone.has(part));
}
