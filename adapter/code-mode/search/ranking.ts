import type { Scores } from './term-index.ts';

export interface Ranked {
  readonly id: number;
  readonly score: number;
}

/** Scores that differ by less are equal: sums of floating point numbers depend on their order. */
const PRECISION = 1e6;
/** Looks before others get their turn. */
const TURN = 5_000;

/** The scores of several terms as one. What has all of the terms wins over what has a single one in its name. */
export function* together(found: readonly Scores[], total: Scores): Generator<void, void> {
  const terms = new Map<number, number>();
  const sums: Scores = new Map();
  let looks = 0;
  for (const scores of found) {
    for (const [id, score] of scores) {
      if (++looks % TURN === 0) yield;
      sums.set(id, (sums.get(id) ?? 0) + score);
      terms.set(id, (terms.get(id) ?? 0) + 1);
    }
  }
  for (const [id, score] of sums) {
    if (++looks % TURN === 0) yield;
    total.set(id, (total.get(id) ?? 0) + score * (terms.get(id) ?? 0) ** 2);
  }
}

/** The best: those that come first in any case, then by score, then by number; the others are not put in order. */
export function* best(
  scores: Scores,
  count: number,
  accepts: (id: number) => boolean,
  isFirst: (id: number) => boolean,
): Generator<void, readonly Ranked[]> {
  const compare = (a: Ranked, b: Ranked): number =>
    Number(isFirst(b.id)) - Number(isFirst(a.id)) || b.score - a.score || a.id - b.id;
  const kept: Ranked[] = [];
  let looks = 0;
  for (const [id, exact] of scores) {
    if (++looks % TURN === 0) yield;
    if (!accepts(id)) continue;
    const one = { id, score: Math.round(exact * PRECISION) };
    const last = kept.at(-1);
    if (kept.length === count && last !== undefined && compare(last, one) < 0) continue;
    let at = kept.length;
    while (at > 0 && compare(one, kept[at - 1] as Ranked) < 0) at--;
    kept.splice(at, 0, one);
    if (kept.length > count) kept.pop();
  }
  return kept;
}
