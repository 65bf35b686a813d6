const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** How far behind an escaped quote the next one is looked for character by character. */
const NEAR = 64;

/** Index after the closing quote of the string that opens at `at`; the end of the text without one. */
export function stringEnd(text: string, at: number): number {
  const end = closingQuote(text, at + 1);
  return end === -1 ? text.length : end + 1;
}

/** Index of the quote that closes a string of which the rest begins at `from`; -1 without one. */
export function closingQuote(text: string, from: number): number {
  let at = from;
  for (;;) {
    const end = text.indexOf('"', at);
    if (end === -1) return -1;
    let before = end;
    while (before > from && text.charCodeAt(before - 1) === BACKSLASH) before--;
    if ((end - before) % 2 === 0) return end;
    // Where one quote is escaped others are near, and a search for each costs more than a look at what lies between.
    const near = Math.min(end + NEAR, text.length);
    for (at = end + 1; at < near; at++) {
      const c = text.charCodeAt(at);
      if (c === QUOTE) return at;
      if (c === BACKSLASH) at++;
    }
  }
}
