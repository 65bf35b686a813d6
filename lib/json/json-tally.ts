const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Read at a time. */
const PART_CHARS = 16 << 10;
/** A character of a large string takes V8 several times as long as a byte does. Of one thread, and of one call of `read`. */
const bytes = Buffer.allocUnsafeSlow(PART_CHARS * 3);
/** Strings that are longer are searched for their end instead of looked at byte by byte. */
const SHORT = 32;

/**
 * What JSON text opens and parts, part by part: in one pass that builds nothing. In text that is no JSON the numbers mean
 * nothing, but each pass ends.
 */
export class JsonTally {
  /** Lists and objects. */
  lists = 0;
  commas = 0;
  deepest = 0;
  #depth = 0;
  /** Where the rest of the text begins. */
  #at = 0;
  #isInString = false;
  #isEscaped = false;

  /** Never fewer than JSON.parse makes: each value but the first follows a comma or an opening bracket. */
  get values(): number {
    return 1 + this.commas + this.lists;
  }

  /** Reads the next 16 Ki characters of the text, which is the same each time. False: that was all of it. */
  read(text: string): boolean {
    const to = this.#at + PART_CHARS;
    this.#count(bytes.write(this.#at === 0 && text.length <= to ? text : text.slice(this.#at, to)));
    this.#at = to;
    return to < text.length;
  }

  #count(length: number): void {
    let depth = this.#depth;
    for (let i = this.#isInString ? this.#stringEnd(0, length) : 0; i < length; i++) {
      const c = bytes[i];
      if (c === QUOTE) i = this.#stringEnd(i + 1, length) - 1;
      else if (c === COMMA) this.commas++;
      else if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
        this.lists++;
        if (++depth > this.deepest) this.deepest = depth;
      } else if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) depth--;
    }
    this.#depth = depth;
  }

  /** Index after the quote that closes the string of which the rest begins at `from`. */
  #stringEnd(from: number, length: number): number {
    let i = from;
    if (this.#isEscaped) i++;
    for (let near = i + SHORT; i < length;) {
      const c = bytes[i];
      if (c === QUOTE) {
        this.#isInString = false;
        this.#isEscaped = false;
        return i + 1;
      }
      i += c === BACKSLASH ? 2 : 1;
      if (i >= near) {
        // What is searched for begins at a character that nothing escapes.
        const end = bytes.indexOf(QUOTE, i);
        const quote = end === -1 || end > length ? length : end;
        let before = quote;
        while (before > i && bytes[before - 1] === BACKSLASH) before--;
        i = (quote - before) % 2 === 0 ? quote : quote + 1;
        near = i + SHORT;
      }
    }
    this.#isInString = true;
    this.#isEscaped = i > length;
    return length;
  }
}
