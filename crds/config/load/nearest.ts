/** The candidate that was probably meant by a misspelt word; undefined when none is near. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: distanceOf(plain(word), plain(candidate)) }))
    .filter(({ candidate, distance }) => distance <= tolerance(word) || isStart(word, candidate))
    .sort((a, b) => a.distance - b.distance);
  return ranked[0]?.candidate;
}

/** `maxActive`, `max-active` and `max_active` differ only in taste. */
const plain = (word: string): string => word.toLowerCase().replaceAll(/[_-]/g, '');

const tolerance = (word: string): number => Math.max(1, Math.floor(word.length / 3));

const isStart = (word: string, candidate: string): boolean =>
  word.length >= 3 && (candidate.startsWith(word.toLowerCase()) || word.toLowerCase().startsWith(candidate));

/** Edit distance in which swapping two neighbours counts as one step (optimal string alignment). */
function distanceOf(a: string, b: string): number {
  // Long words are never near to a key; this bounds the work on hostile input.
  if (Math.abs(a.length - b.length) > 20) return Number.POSITIVE_INFINITY;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      let steps = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + change);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        steps = Math.min(steps, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(steps);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
