/** How one text that models read is treated. */
export interface TextRules {
  /**
   * Unicode NFKC: compatibility forms, such as full-width letters and unusual spaces, become the ordinary ones. Of more
   * than 30 combining marks in a row the first 30 stay.
   */
  readonly normalize: boolean;
  readonly removeInvisible: boolean;
  /** Longest text, in code points; null: no limit. */
  readonly maxChars: number | null;
}

/** What nobody sees: formats, default ignorables, controls but for tab and line ends, lone surrogates, blank Braille. */
const UNSEEN = String.raw`[[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]--[\t\n\r]]`;
const EMOJI = String.raw`\p{Extended_Pictographic}[\uFE0E\uFE0F]?\p{Emoji_Modifier}?`;
const NUKTA = String.raw`[\u093C\u09BC\u0A3C\u0ABC\u0B3C\u0CBC]`;
const VIRAMA = String.raw`[\u094D\u09CD\u0A4D\u0ACD\u0B4D\u0BCD\u0C4D\u0CCD\u0D4D\u0DCA]`;
const arabic = (category: 'L' | 'M'): string => String.raw`[\p{${category}}&&\p{Script_Extensions=Arabic}]`;

/**
 * Where such characters belong to what one sees. What stands around them is such that neither taking others out nor
 * normalizing can part it.
 */
const IN_USE = [
  // England, Scotland and Wales: the only flags in general use that are written with tags.
  String.raw`\u{1F3F4}\u{E0067}\u{E0062}(?:\u{E0065}\u{E006E}\u{E0067}|\u{E0073}\u{E0063}\u{E0074}|\u{E0077}\u{E006C}\u{E0073})\u{E007F}`,
  String.raw`${EMOJI}(?:\u200D${EMOJI})*`,
  String.raw`[0-9#*][\uFE0E\uFE0F]`,
  String.raw`\u200C(?<=${arabic('L')}${arabic('M')}{0,4}\u200C)(?=${arabic('L')})`,
  String.raw`[\u200C\u200D](?<=\p{L}${NUKTA}?${VIRAMA}[\u200C\u200D])`,
].join('|');

const SUSPECT = new RegExp(String.raw`${UNSEEN}|[\u2028\u2029]`, 'v');
const UNSEEN_IN_LINE = new RegExp(String.raw`${UNSEEN}|[\t\n\r\u2028\u2029]`, 'gv');
const UNSEEN_RUNS = new RegExp(`(?<inUse>${IN_USE})|${UNSEEN}+`, 'gv');
const LINE_ENDS = /[\u2028\u2029]/g;

/**
 * Escape sequences of terminals, with one byte or two to begin: a text for the terminal (a title, a link; ends with BEL
 * or ST), a control sequence (colours, the cursor), and the short ones. One that does not end loses its beginning only.
 */
const ESCAPES =
  // oxlint-disable-next-line no-control-regex -- it is control characters that they are made of
  /(?:\u001B[\]PX^_]|[\u0090\u0098\u009D-\u009F])[^\u0007\u0018\u001A\u001B\u0080-\u009F]*(?:\u0007|\u001B\\|\u009C)|(?:\u001B\[|\u009B)[0-?]*[ -/]*[@-~]|\u001B[ -/]*[0-~]/g;

/** UAX #15, "Stream-Safe Text Format": no language needs more than 30. U+FF9E and U+FF9F become marks. */
const TOO_MANY_MARKS = /(?<enough>[\p{M}\uFF9E\uFF9F]{30})[\p{M}\uFF9E\uFF9F]+/gu;

const PLAIN = /^[\t\n\r -~]*$/;
const PRINTABLE = /^[ -~]*$/;
const ELLIPSIS = '...';

/**
 * A text as a person would see it, in three steps: NFKC; invisible characters out; the cap.
 *
 * Invisible are the categories Cf and Cc but for tab, CR and LF, every default-ignorable code point (zero-width, bidi,
 * tags, variation selectors, fillers), U+2800 and lone surrogates. Escape sequences of terminals go as a whole; U+2028
 * and U+2029 become LF. Parts of ordinary writing stay:
 * - one U+FE0E or U+FE0F directly after a pictograph (Extended_Pictographic), a digit, `#` or `*`;
 * - one U+200D between two pictographs, the first with or without such a selector and a skin tone;
 * - the tags in the flags of England, Scotland and Wales;
 * - one U+200C between two letters of the Arabic script (Persian);
 * - one U+200C or U+200D after a letter with a virama (Hindi and its relatives).
 *
 * The result is stable: treating it again changes nothing. Of a text far longer than its cap only the beginning is read:
 * as much as the cap needs, and of little else than invisible characters no more than 16 times the cap and 64 Ki. An
 * escape sequence that does not end there counts as one without an end.
 */
export function visibleText(text: string, rules: TextRules): string {
  const { maxChars } = rules;
  if (PLAIN.test(text)) return capped(text, maxChars);
  if (maxChars === null) return cleaned(text, rules);
  const enough = 4 * maxChars + 4096;
  if (text.length > enough) {
    const beginning = cleaned(text.slice(0, enough), rules);
    const shown = capped(beginning, maxChars);
    if (shown !== beginning) return shown;
  }
  const most = 16 * maxChars + 65_536;
  if (text.length <= most) return capped(cleaned(text, rules), maxChars);
  return capped(cleaned(text.slice(0, most), rules) + ELLIPSIS, maxChars);
}

function cleaned(text: string, { normalize, removeInvisible }: TextRules): string {
  const normal = normalize ? normalized(text) : text;
  if (!removeInvisible || !SUSPECT.test(normal)) return normal;
  const seen = normal.replace(ESCAPES, '').replace(LINE_ENDS, '\n').replace(UNSEEN_RUNS, '$<inUse>');
  // What an invisible character kept apart may now be one letter.
  return normalize ? normalized(seen) : seen;
}

/** Sorting the marks of one letter takes quadratic time, so there must not be too many of them; before and after. */
function normalized(text: string): string {
  return text.replace(TOO_MANY_MARKS, '$<enough>').normalize('NFKC').replace(TOO_MANY_MARKS, '$<enough>');
}

/**
 * The first `max` code points of a text; of a longer one `max - 3` and an ellipsis, or with a `max` of 3 and less no
 * ellipsis. What only joins to a character that was cut off goes with it.
 */
export function capped(text: string, max: number | null): string {
  if (max === null || text.length <= max) return text;
  const kept = max > ELLIPSIS.length ? max - ELLIPSIS.length : max;
  let cut = 0;
  let at = 0;
  for (let points = 0; points < max; points++) {
    if (points === kept) cut = at;
    if (at >= text.length) return text;
    at += isPair(text, at) ? 2 : 1;
  }
  if (at >= text.length) return text;
  if (kept === max) cut = at;
  return text.slice(0, withoutJoiners(text, cut)) + (kept === max ? '' : ELLIPSIS);
}

/** Whether a name holds what nobody sees; line ends and tabs have no place in one either. */
export function hasInvisible(name: string): boolean {
  return !PRINTABLE.test(name) && name.search(UNSEEN_IN_LINE) !== -1;
}

/** Escapes of JSON strings that stand for a character by its number, and all others. */
const JSON_ESCAPES = /\\(?:u(?<hex>[\dA-Fa-f]{4})|(?<short>.))/g;

/** False where `holdsUnseen` is false for every part of a JSON text; quick. */
export function mayHoldUnseen(json: string): boolean {
  return /\\[bfu]/.test(json) || SUSPECT.test(json);
}

/** Whether the strings of a JSON text hold what nobody sees and no writing needs. Tabs and line ends are none of it. */
export function holdsUnseen(json: string): boolean {
  const text = json.replace(JSON_ESCAPES, (_, hex: string | undefined, short: string | undefined) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
    return short === 'b' || short === 'f' ? '\b' : ' ';
  });
  return SUSPECT.test(text) && text.replace(UNSEEN_RUNS, '$<inUse>') !== text;
}

/** Words of an upstream for a log: what one cannot see, line ends among it, as `\u{200b}`. */
export function withEscapes(text: string): string {
  if (PRINTABLE.test(text)) return text;
  return text.replace(UNSEEN_IN_LINE, (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`);
}

function isPair(text: string, at: number): boolean {
  return (text.codePointAt(at) ?? 0) > 0xff_ff;
}

/** `end` without the joiners and tags before it. */
function withoutJoiners(text: string, end: number): number {
  let at = end;
  for (;;) {
    const last = text.charCodeAt(at - 1);
    if (last === 0x20_0c || last === 0x20_0d) at--;
    else if (last >= 0xdc_20 && last <= 0xdc_7f && text.charCodeAt(at - 2) === 0xdb_40) at -= 2;
    else return at;
  }
}
