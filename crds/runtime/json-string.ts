const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** How far behind an escaped quote the next one is looked for character by character. */
const NEAR = 64;

/** Index after the closing quote of the string that opens at `at`. */
export function stringEnd(text: string, at: number): number {
  let from = at + 1;
  for (;;) {
    const end = text.indexOf('"', from);
    if (end === -1) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end + 1;
    // Where one quote is escaped others are near, and a search for each costs more than a look at what lies between.
    const near = Math.min(end + NEAR, text.length);
    for (from = end + 1; from < near; from++) {
      const c = text.charCodeAt(from);
      if (c === QUOTE) return from + 1;
      if (c === BACKSLASH) from++;
    }
  }
}
