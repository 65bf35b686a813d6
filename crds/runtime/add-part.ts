/** A part takes some hundred bytes beside its own: where there are many small ones, they are joined. */
const SMALL_BYTES = 1 << 10;
const JOINED_BYTES = 4 << 10;
const FEW = 16;

/**
 * Keeps one more part. Whoever sends single bytes would else have each of them take two hundred. Neighbours of about the same
 * size are joined, so every byte is copied a few times at most.
 */
export function addPart(parts: Buffer[], part: Buffer): void {
  parts.push(part);
  if (part.length >= SMALL_BYTES || parts.length <= FEW) return;
  for (let last = part; last.length < JOINED_BYTES;) {
    const before = parts.at(-2);
    if (before === undefined || before.length > last.length) return;
    last = Buffer.concat([before, last]);
    parts.length -= 2;
    parts.push(last);
  }
}
