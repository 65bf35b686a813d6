import type { JsonLimits } from '../../../lib/json/json-limits.ts';
import { closingQuote } from '../../../lib/json/json-string.ts';
import { endsEscaped, KINDS, CLOSE, OPEN, SCALAR, scalarEnd, SPACE } from './json-parts.ts';
import { decoded, LONGEST_NAME, nameOf } from './json-name.ts';
import { folded } from './json-scan.ts';
import { ID, kindOfMembers, MEMBERS, METHOD, RESULT } from './message-members.ts';
import type { Refusal } from './refusal.ts';
import { isReserved } from './reserved-meta.ts';
import { MAX_LEADING_CHARS } from '../../limits.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** What is expected next where the members of a message stand, or the messages of an array. */
const START = 0;
const FIRST_KEY = 1;
const KEY = 2;
const AFTER_KEY = 3;
const VALUE = 4;
const IN_SCALAR = 5;
const AFTER_VALUE = 6;
const FIRST_MESSAGE = 7;
const MESSAGE = 8;
const AFTER_MESSAGE = 9;
const END = 10;

/** What a string is to be looked at for. */
const NOTHING = 0;
const MEMBER = 1;
const MEMBER_VALUE = 2;
const OF_RESULT = 3;
const OF_META = 4;

const NUMBER = /^-?\d/;
/** What begins so, or with a quotation mark, is an object to no parser. */
const WORD = /\w/;

/**
 * Reads from JSON text what kind of message it is, in one pass forward that builds nothing, and takes the text in parts. It
 * accepts more than JSON within values, but nothing that two parsers could take apart in different ways: what is no string
 * consists of brackets, commas, colons, and characters of numbers, true, false and null.
 */
export class EnvelopeScan {
  /** Why this is no message; what comes after is not looked at. */
  problem: Refusal | undefined;
  isArray = false;
  /** Ids of the responses, as far as they have come. */
  readonly ids: (string | number)[] = [];
  hasResult = false;
  /** There is an error that belongs to no request. */
  hasLooseError = false;
  /** There is a request or a notification. */
  hasOther = false;
  /** Where reserved members of results' `_meta` have their names, in the text that was pushed last. */
  reserved: { start: number; end: number }[] | undefined;
  /** Bytes come as characters, one each (latin1). */
  readonly #isBytes: boolean;
  #values = 1;
  #depth = 0;
  #deepest = 0;
  #base = 0;
  #expected = START;
  /** Of the message that has begun. */
  #seen = 0;
  #member = 0;
  /** Members whose value is null. */
  #nulls = 0;
  #isMethodText = false;
  /** Its id is none. */
  #isIdOdd = false;
  #id: string | number | undefined;
  #isInMeta = false;
  /** Whether a string that comes next inside of a value is the name of a member, if it is in an object. */
  #isBegun = false;
  /** Of a string, or a scalar, that the end of the text has cut. */
  #role = -1;
  #kept = '';
  #isEscaped = false;
  #isNoObject = false;
  /** Whitespace before everything. */
  #leading = 0;

  constructor(isBytes = false) {
    this.#isBytes = isBytes;
  }

  /** The text is over, and is a message or an array of them. */
  get isComplete(): boolean {
    return this.#expected === END && this.problem === undefined;
  }

  /** Whether what has been read is no message, and has nothing that a reader could take for the contents of one. */
  get isHarmless(): boolean {
    if (this.#isNoObject) return true;
    return this.problem === 'kind' && this.#expected === END && !this.isArray && (this.#seen & (METHOD | RESULT)) === 0;
  }

  /** The id of the response that has begun, where it stood at its beginning. */
  get begunId(): string | number | undefined {
    return this.isArray || (this.#seen & (METHOD | RESULT)) !== RESULT ? undefined : this.#id;
  }

  /** Whether there is a response. */
  get isResponse(): boolean {
    return this.ids.length > 0 || this.hasLooseError;
  }

  /** The limit that what has come exceeds. */
  exceeded({ values, depth }: JsonLimits): keyof JsonLimits | undefined {
    if (this.#deepest > depth) return 'depth';
    return this.#values > values ? 'values' : undefined;
  }

  push(text: string): void {
    this.reserved = undefined;
    if (this.problem !== undefined) return;
    const { length } = text;
    let i = this.#role === -1 ? 0 : this.#resume(text);
    let depth = this.#depth;
    let begun = this.#isBegun;
    while (i < length) {
      const c = text.charCodeAt(i);
      const kind = c < 128 ? KINDS[c] : 0;
      if (kind === SPACE || (kind === SCALAR && depth > this.#base + 1)) {
        i++;
        continue;
      }
      if (this.#expected === START) this.#isNoObject = c === QUOTE || WORD.test(text.charAt(i));
      if (c === QUOTE) {
        const level = depth - this.#base;
        const role =
          level === 1 || depth <= this.#base ? this.#roleHere(depth) : begun ? this.#roleWithin(level) : NOTHING;
        if (role === -1) return this.#refuse('malformed');
        begun = false;
        const end = closingQuote(text, i + 1);
        if (end === -1) {
          this.#cut(text, i, role);
          break;
        }
        if (role !== NOTHING) this.#saw(role, text.slice(i + 1, end), i);
        if (this.problem !== undefined) return;
        i = end + 1;
        continue;
      }
      if (c === COMMA) {
        this.#values++;
        begun = true;
        if (depth <= this.#base + 1 && !this.#onComma(depth)) return this.#refuse('malformed');
      } else if (kind === OPEN) {
        this.#values++;
        if (depth <= this.#base + 1 && !this.#onOpen(c, depth)) return this.#refuse('malformed');
        if (++depth > this.#deepest) this.#deepest = depth;
        begun = true;
      } else if (kind === CLOSE) {
        depth--;
        begun = false;
        if (depth <= this.#base + 1 && !this.#onClose(c, depth)) return this.#refuse('malformed');
        if (this.problem !== undefined) return;
      } else if (c === COLON) {
        if (depth <= this.#base + 1) {
          if (depth <= this.#base || this.#expected !== AFTER_KEY) return this.#refuse('malformed');
          this.#expected = VALUE;
        }
      } else if (kind === SCALAR && depth === this.#base + 1 && this.#expected === VALUE) {
        const end = scalarEnd(text, i);
        if (end === length) {
          this.#cut(text, i, IN_SCALAR);
          break;
        }
        this.#sawScalar(text.slice(i, end));
        i = end;
        continue;
      } else return this.#refuse('malformed');
      i++;
    }
    this.#depth = depth;
    this.#isBegun = begun;
    if (this.#expected === START && (this.#leading += length) > MAX_LEADING_CHARS) this.#refuse('malformed');
  }

  #refuse(problem: Refusal): void {
    this.problem ??= problem;
  }

  /** What a string is where members or messages stand; -1 where none may. */
  #roleHere(depth: number): number {
    if (depth === this.#base + 1) {
      if (this.#expected === FIRST_KEY || this.#expected === KEY) return MEMBER;
      if (this.#expected === VALUE) return MEMBER_VALUE;
    }
    return -1;
  }

  #roleWithin(level: number): number {
    if (this.#member !== RESULT) return NOTHING;
    if (level === 2) return OF_RESULT;
    return level === 3 && this.#isInMeta ? OF_META : NOTHING;
  }

  #onComma(depth: number): boolean {
    if (depth === this.#base + 1) {
      if (this.#expected !== AFTER_VALUE) return false;
      this.#expected = KEY;
      return true;
    }
    if (this.#base === 0 || this.#expected !== AFTER_MESSAGE) return false;
    this.#expected = MESSAGE;
    return true;
  }

  #onOpen(c: number, depth: number): boolean {
    if (depth === this.#base + 1) {
      if (this.#expected !== VALUE) return false;
      if (this.#member === ID) this.#isIdOdd = true;
      return true;
    }
    if (this.#expected === START && c === OPEN_ARRAY) {
      this.isArray = true;
      this.#base = 1;
      this.#expected = FIRST_MESSAGE;
      return true;
    }
    if (c !== OPEN_OBJECT || this.#expected === AFTER_MESSAGE || this.#expected === END) return false;
    this.#expected = FIRST_KEY;
    this.#seen = 0;
    this.#member = 0;
    this.#nulls = 0;
    this.#isMethodText = false;
    this.#isIdOdd = false;
    this.#id = undefined;
    return true;
  }

  /** `depth` is that after it. */
  #onClose(c: number, depth: number): boolean {
    if (depth === this.#base + 1) {
      this.#expected = AFTER_VALUE;
      return true;
    }
    if (depth < this.#base) {
      if (c === CLOSE_OBJECT || this.#expected !== AFTER_MESSAGE) return false;
      this.#expected = END;
      return true;
    }
    if (c !== CLOSE_OBJECT || (this.#expected !== AFTER_VALUE && this.#expected !== FIRST_KEY)) return false;
    this.#expected = this.#base === 0 ? END : AFTER_MESSAGE;
    this.#judge();
    return true;
  }

  /** A message is complete. */
  #judge(): void {
    const id = this.#id;
    const isText = (this.#seen & METHOD) === 0 || this.#isMethodText;
    const kind = this.#isIdOdd || !isText ? undefined : kindOfMembers(this.#seen, this.#nulls, id !== undefined);
    if (kind === undefined) return this.#refuse('kind');
    if (kind === 'other') {
      this.hasOther = true;
      return;
    }
    if (kind === 'result') this.hasResult = true;
    if (id === undefined) this.hasLooseError = true;
    else this.ids.push(id);
  }

  /** @param start where its quote stands in the text that was pushed last; negative where that has not all of it */
  #saw(role: number, raw: string, start: number): void {
    if (role === MEMBER) return this.#sawMember(raw);
    if (role === MEMBER_VALUE) {
      this.#expected = AFTER_VALUE;
      if (this.#member === METHOD) this.#isMethodText = true;
      else if (this.#member === ID) {
        const id = decoded(raw, this.#isBytes);
        if (id === undefined) this.#refuse('malformed');
        else this.#id = id;
      }
      return;
    }
    if (role === OF_RESULT) {
      // Only escapes make another text of it: no letter outside of ASCII folds to one of these.
      this.#isInMeta =
        raw.length === 5 ? folded(raw) === '_meta' : raw.includes('\\') && nameOf(raw, this.#isBytes) === '_meta';
      return;
    }
    const name = nameOf(raw, this.#isBytes);
    if (name !== undefined && isReserved(name)) {
      if (start < 0) this.#refuse('member');
      else (this.reserved ??= []).push({ start, end: start + raw.length + 2 });
    }
  }

  #sawMember(raw: string): void {
    this.#expected = AFTER_KEY;
    let bit = MEMBERS.get(raw);
    if (bit === undefined) {
      const meant = nameOf(raw, this.#isBytes);
      bit = meant === undefined ? undefined : MEMBERS.get(meant);
      if (bit !== undefined) this.#refuse('member');
    } else if ((this.#seen & bit) !== 0) this.#refuse('member');
    this.#member = bit ?? 0;
    this.#seen |= this.#member;
    this.#isInMeta = false;
  }

  #sawScalar(raw: string): void {
    this.#expected = AFTER_VALUE;
    if (raw === 'null') this.#nulls |= this.#member;
    else if (this.#member === ID) {
      const id = NUMBER.test(raw) ? Number(raw) : Number.NaN;
      if (Number.isFinite(id)) this.#id = id;
      else this.#isIdOdd = true;
    }
  }

  #cut(text: string, at: number, role: number): void {
    this.#role = role;
    this.#kept = role === NOTHING ? '' : text.slice(at, at + LONGEST_NAME + 1);
    this.#isEscaped = role !== IN_SCALAR && endsEscaped(text, at + 1);
  }

  /** Goes on with what was cut. Index after its end in this text. */
  #resume(text: string): number {
    const role = this.#role;
    const from = this.#isEscaped ? 1 : 0;
    const end = role === IN_SCALAR ? scalarEnd(text, 0) : closingQuote(text, from);
    const isCut = role === IN_SCALAR ? end === text.length : end === -1;
    if (role !== NOTHING && this.#kept.length <= LONGEST_NAME) this.#kept += text.slice(0, isCut ? LONGEST_NAME : end);
    if (isCut) {
      if (text.length > 0 && role !== IN_SCALAR) this.#isEscaped = endsEscaped(text, from);
      return text.length;
    }
    this.#role = -1;
    const kept = this.#kept;
    this.#kept = '';
    if (role === IN_SCALAR) {
      this.#sawScalar(kept);
      return end;
    }
    if (role !== NOTHING) this.#saw(role, kept.slice(1), -1);
    return end + 1;
  }
}
