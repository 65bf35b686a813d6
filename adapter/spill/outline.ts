import type { Span } from '../exchange/scanning/json-scan.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Stands for the number of a hole. No JSON text has this character: within strings it is escaped. */
const HOLE = '\0';
/** Strings up to this size stay in the outline. */
const HOLE_BYTES = 16 << 10;
/** What is left is looked at in memory. */
const MAX_OUTLINE_BYTES = 4 << 20;
const NO_HOLES: readonly Span[] = [];

/** JSON text in which long strings are left out: each is a hole, whose bytes stand somewhere else. */
export class Outline {
  readonly text: string;
  /** Where the bytes of each hole stand, without the quotes. */
  readonly holes: readonly Span[];

  constructor(text: string, holes: readonly Span[] = NO_HOLES) {
    this.text = text;
    this.holes = holes;
  }

  /** The hole that a string value of the outline is; undefined where it stands there itself. */
  hole({ start }: Span): Span | undefined {
    if (this.text.charAt(start + 1) !== HOLE) return undefined;
    return this.holes[Number.parseInt(this.text.slice(start + 2, start + 16), 10)];
  }

  /** A text that was made of the outline, in parts: text as it is, and holes. */
  *partsOf(text: string): Generator<string | Span> {
    const [first = '', ...rest] = text.split(HOLE);
    yield first;
    for (const part of rest) {
      const end = part.indexOf('"');
      yield this.holes[Number(part.slice(0, end))] as Span;
      yield part.slice(end);
    }
  }
}

/** Makes the outline of JSON text whose bytes come in pieces. Undefined at the end where too much would be left. */
export class OutlineScan {
  readonly #kept: Buffer[] = [];
  readonly #holes: Span[] = [];
  #keptBytes = 0;
  /** Of all pieces before. */
  #offset = 0;
  /** Where the string begins in which the text has come; -1 outside of one. */
  #start = -1;
  /** What there is of that string, as long as it is short. */
  #string: Buffer[] = [];
  #isEscaped = false;

  push(piece: Buffer): void {
    let at = 0;
    while (at < piece.length) {
      const end = this.#start === -1 ? piece.indexOf(QUOTE, at) : this.#stringEnd(piece, at);
      const stop = end === -1 ? piece.length : end;
      if (this.#start === -1) this.#keep(piece.subarray(at, end === -1 ? stop : stop + 1));
      else if (this.#offset + stop - this.#start <= HOLE_BYTES) this.#string.push(piece.subarray(at, stop));
      else this.#string = [];
      if (end === -1) break;
      if (this.#start === -1) this.#start = this.#offset + end + 1;
      else this.#endString(this.#offset + end);
      at = end + 1;
    }
    this.#offset += piece.length;
  }

  end(): Outline | undefined {
    if (this.#keptBytes > MAX_OUTLINE_BYTES || this.#start !== -1) return undefined;
    return new Outline(Buffer.concat(this.#kept).toString('utf8'), this.#holes);
  }

  #endString(end: number): void {
    const isShort = end - this.#start <= HOLE_BYTES;
    if (!isShort) this.#string = [Buffer.from(`${HOLE}${this.#holes.push({ start: this.#start, end }) - 1}`)];
    for (const part of this.#string) this.#keep(part);
    this.#keep(QUOTES);
    this.#string = [];
    this.#start = -1;
  }

  #keep(part: Buffer): void {
    this.#keptBytes += part.length;
    if (this.#keptBytes <= MAX_OUTLINE_BYTES) this.#kept.push(part);
    else this.#kept.length = 0;
  }

  /** Where the quote stands that ends the string; -1: not in this piece. */
  #stringEnd(piece: Buffer, from: number): number {
    let at = from;
    if (this.#isEscaped) at++;
    this.#isEscaped = false;
    for (;;) {
      const quote = piece.indexOf(QUOTE, at);
      const stop = quote === -1 ? piece.length : quote;
      let run = 0;
      while (stop - run > at && piece[stop - run - 1] === BACKSLASH) run++;
      if (quote === -1) {
        this.#isEscaped = run % 2 === 1;
        return -1;
      }
      if (run % 2 === 0) return quote;
      at = quote + 1;
    }
  }
}

const QUOTES = Buffer.from('"');
