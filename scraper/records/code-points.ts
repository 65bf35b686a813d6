/** Sorts as Python does, by code points; JavaScript's order by UTF-16 units differs above U+FFFF. */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  let index = 0;
  while (index < length && a.charCodeAt(index) === b.charCodeAt(index)) index += 1;
  if (index === length) return a.length - b.length;
  // Behind the first half of a surrogate pair, the pair is what differs.
  return (isHigh(a.charCodeAt(index - 1)) ? difference(a, b, index - 1) : 0) || difference(a, b, index);
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

const difference = (a: string, b: string, index: number): number =>
  (a.codePointAt(index) ?? 0) - (b.codePointAt(index) ?? 0);
