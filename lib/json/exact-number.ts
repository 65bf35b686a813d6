/** ECMAScript's proposal of source text access, which Node has and TypeScript does not declare yet. */
const { rawJSON: rawJson } = JSON as unknown as { rawJSON: (text: string) => unknown };

/**
 * A JSON number that a double would change: an integer beyond 2^53, or a float written as an integer (`1.0`, `1e3`).
 * Python's JSON, which the fingerprints follow, tells `1` from `1.0` and keeps all digits of an integer.
 */
export class ExactNumber {
  /** The number as it stood in the text. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The nearest double. */
  get value(): number {
    return Number(this.text);
  }

  /** Whether it has neither a fraction nor an exponent. */
  get isInteger(): boolean {
    return !/[.eE]/.test(this.text);
  }

  /** For JSON.stringify: the number as it was. */
  toJSON(): unknown {
    return rawJson(this.text);
  }
}

/** A number of a configuration that is sent as it is written there. */
export class SpelledNumber extends ExactNumber {}
