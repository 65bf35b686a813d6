/**
 * Reads a text that is known to be JSON (NaN, Infinity and -Infinity included), with the text of each number given to
 * `toNumber`. Of an invalid text it makes nonsense.
 *
 * @throws RangeError when the text is nested too deeply for the stack
 */
export function readValidJson(text: string, toNumber: (source: string) => unknown): unknown {
  return new Reader(text, toNumber).value();
}

const [TAB, LINE_FEED, RETURN, SPACE] = [0x09, 0x0a, 0x0d, 0x20];
const [QUOTE, BACKSLASH, BRACKET, CLOSING_BRACKET, BRACE, CLOSING_BRACE] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];
const [TRUE, FALSE, NULL] = [0x74, 0x66, 0x6e];
/** Numbers and Python's constants end at a comma, at a closing bracket or at white space. */
const NUMBER = /[^,\]}\s]+/y;

class Reader {
  readonly #text: string;
  readonly #toNumber: (source: string) => unknown;
  #at = 0;

  constructor(text: string, toNumber: (source: string) => unknown) {
    this.#text = text;
    this.#toNumber = toNumber;
  }

  value(): unknown {
    switch (this.#next()) {
      case BRACE:
        return this.#object();
      case BRACKET:
        return this.#array();
      case QUOTE:
        return this.#string();
      case TRUE:
        this.#at += 4;
        return true;
      case FALSE:
        this.#at += 5;
        return false;
      case NULL:
        this.#at += 4;
        return null;
      default:
        return this.#number();
    }
  }

  #object(): unknown {
    const object: Record<string, unknown> = {};
    this.#at += 1;
    if (this.#next() === CLOSING_BRACE) {
      this.#at += 1;
      return object;
    }
    for (;;) {
      this.#next();
      const key = this.#string();
      this.#next();
      this.#at += 1; // the colon
      const value = this.value();
      if (key === '__proto__') {
        Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
      } else {
        object[key] = value;
      }
      const end = this.#next() === CLOSING_BRACE;
      this.#at += 1;
      if (end) return object;
    }
  }

  #array(): unknown {
    const array: unknown[] = [];
    this.#at += 1;
    if (this.#next() === CLOSING_BRACKET) {
      this.#at += 1;
      return array;
    }
    for (;;) {
      array.push(this.value());
      const end = this.#next() === CLOSING_BRACKET;
      this.#at += 1;
      if (end) return array;
    }
  }

  #string(): string {
    const start = this.#at;
    let end = this.#text.indexOf('"', start + 1);
    while (this.#isEscaped(end)) end = this.#text.indexOf('"', end + 1);
    this.#at = end + 1;
    const inner = this.#text.slice(start + 1, end);
    return inner.includes('\\') ? (JSON.parse(this.#text.slice(start, this.#at)) as string) : inner;
  }

  /** Whether an odd number of backslashes stands before a place. */
  #isEscaped(place: number): boolean {
    let first = place;
    while (this.#text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
    return (place - first) % 2 === 1;
  }

  #number(): unknown {
    NUMBER.lastIndex = this.#at;
    const source = NUMBER.exec(this.#text)?.[0] ?? '';
    this.#at += source.length;
    return this.#toNumber(source);
  }

  /** Moves behind white space. */
  #next(): number {
    let code = this.#text.charCodeAt(this.#at);
    while (code === SPACE || code === LINE_FEED || code === RETURN || code === TAB) {
      this.#at += 1;
      code = this.#text.charCodeAt(this.#at);
    }
    return code;
  }
}
