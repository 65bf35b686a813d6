const HEAD_SHARE = 0.75;

/** The beginning and the end of a text that comes in pieces, and how long it is. Characters are UTF-16 code units. */
export class Preview {
  readonly #headChars: number;
  readonly #tailChars: number;
  #head = '';
  #tail = '';
  #chars = 0;

  /** @param chars of beginning and end together */
  constructor(chars: number) {
    this.#headChars = Math.ceil(chars * HEAD_SHARE);
    this.#tailChars = chars - this.#headChars;
  }

  static of(text: string, chars: number): Preview {
    const preview = new Preview(chars);
    preview.push(text);
    return preview;
  }

  push(piece: string): void {
    this.#chars += piece.length;
    const wanted = this.#headChars - this.#head.length;
    if (wanted > 0) this.#head += piece.slice(0, wanted);
    const rest = wanted > 0 ? piece.slice(wanted) : piece;
    if (rest === '' || this.#tailChars === 0) return;
    this.#tail = (rest.length >= this.#tailChars ? '' : this.#tail) + rest.slice(-this.#tailChars);
    if (this.#tail.length > this.#tailChars) this.#tail = this.#tail.slice(-this.#tailChars);
  }

  get chars(): number {
    return this.#chars;
  }

  /** The first character that is no white space, and the last; '' where there is none. */
  get ends(): readonly [string, string] {
    return [this.#head.trimStart().charAt(0), (this.#tail === '' ? this.#head : this.#tail).trimEnd().slice(-1)];
  }

  /**
   * The text with a line in place of what is left out; no surrogate pair is cut.
   * @param chars of beginning and end together, where that is less
   */
  with(line: (leftOut: number) => string, chars = this.#headChars + this.#tailChars): string {
    const headChars = Math.ceil(chars * HEAD_SHARE);
    const tailChars = chars - headChars;
    const all = this.#head.slice(0, headChars);
    const end = tailChars === 0 ? '' : this.#tail.slice(-tailChars);
    const head = endsInPair(all) ? all.slice(0, -1) : all;
    const tail = beginsInPair(end) ? end.slice(1) : end;
    return `${head}\n\n${line(this.#chars - head.length - tail.length)}\n\n${tail}`;
  }
}

const endsInPair = (text: string): boolean => isBetween(text.charCodeAt(text.length - 1), 0xd800, 0xdbff);
const beginsInPair = (text: string): boolean => isBetween(text.charCodeAt(0), 0xdc00, 0xdfff);
const isBetween = (unit: number, least: number, most: number): boolean => unit >= least && unit <= most;
