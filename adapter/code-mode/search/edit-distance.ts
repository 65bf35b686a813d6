/** Longer words are like none. */
const MAX_CHARS = 63;
const first = new Uint8Array(MAX_CHARS + 1);
const second = new Uint8Array(MAX_CHARS + 1);

/** How many characters must be put in, left out or changed to make one word of another; undefined when more than `most`. */
export function editDistance(a: string, b: string, most: number): number | undefined {
  if (Math.abs(a.length - b.length) > most || b.length > MAX_CHARS) return undefined;
  let above = first;
  let row = second;
  for (let j = 0; j <= b.length; j++) above[j] = j;
  for (let i = 1; i <= a.length; i++) {
    const c = a.charCodeAt(i - 1);
    // Beside this band are only larger distances.
    const from = Math.max(1, i - most);
    const to = Math.min(b.length, i + most);
    let least = from === 1 ? i : most + 1;
    row[from - 1] = least;
    for (let j = from; j <= to; j++) {
      let value = (above[j - 1] as number) + (c === b.charCodeAt(j - 1) ? 0 : 1);
      if (j < i + most) value = Math.min(value, (above[j] as number) + 1);
      value = Math.min(value, (row[j - 1] as number) + 1);
      row[j] = value;
      if (value < least) least = value;
    }
    if (least > most) return undefined;
    [above, row] = [row, above];
  }
  const distance = above[b.length] as number;
  return distance > most ? undefined : distance;
}
