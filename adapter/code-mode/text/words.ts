/**
 * Text → the terms that it is found by. Names of programs fall into their words (camelCase, snake_case, kebab-case, dots),
 * English words lose the endings that models vary, scripts without blanks give pairs of characters.
 */

const MAX_WORD = 40;
const MAX_SQUASHED = 300;
const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]+/u;
const RUNS =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]+|[^\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]+/gu;

/** The terms of a text in their order, repetitions included. */
export function termsOf(text: string): readonly string[] {
  return rawWords(withoutAccents(text)).flatMap((word) => camelParts(word).flatMap(termsOfWord));
}

export interface QueryWord {
  /** As it was written, in small letters. */
  readonly word: string;
  readonly terms: readonly string[];
}

/** The words that somebody looks for; `GitHub` is also meant as one. */
export function queryWordsOf(text: string): readonly QueryWord[] {
  return rawWords(withoutAccents(text)).map((written) => {
    const parts = camelParts(written);
    const all = parts.length > 1 ? [...parts, written] : parts;
    return { word: written.slice(0, MAX_WORD).toLowerCase(), terms: all.flatMap(termsOfWord) };
  });
}

/** Letters and digits alone: `read_file`, `readFile` and `Read file` are the same. Of long texts the beginning. */
export function squashed(text: string): string {
  return rawWords(withoutAccents(text.slice(0, MAX_SQUASHED)))
    .join('')
    .toLowerCase();
}

/**
 * An English word without its inflection: files → file, queries → query, navigating and navigation → navigat. Not a
 * dictionary's stem; what counts is that the forms of a word agree and that short words stay apart (file, fill).
 */
export function stem(word: string): string {
  if (word === 'ids') return 'id';
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  return withoutEnding(singular(word));
}

function singular(word: string): string {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  if (word.length > 4 && /(?:ss|x|ch|sh|us)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith('s') && !/(?:ss|us|is)$/.test(word) ? word.slice(0, -1) : word;
}

function withoutEnding(word: string): string {
  if (word.length > 4 && word.endsWith('ied')) return `${word.slice(0, -3)}y`;
  const verb = /^(?<base>.*[aeiouy].*)(?:ing|(?<!e)ed)$/.exec(word)?.groups?.['base'];
  if (verb !== undefined && verb.length >= 3) return verbOf(verb);
  if (/[st]ion$/.test(word) && word.length >= 8) return word.slice(0, -3);
  return word.length >= 5 && word.endsWith('e') ? word.slice(0, -1) : word;
}

/** running → runn → run, saving → sav → save. */
function verbOf(base: string): string {
  if (base.length >= 4 && /([^aeioulsz])\1$/.test(base)) return base.slice(0, -1);
  return /^[^aeiou][aeiouy][^aeiouwxy]$/.test(base) ? `${base}e` : base;
}

function termsOfWord(word: string): readonly string[] {
  const lower = word.toLowerCase();
  if (!UNSPACED.test(lower)) return [stem(lower.slice(0, MAX_WORD))];
  return (lower.match(RUNS) ?? []).flatMap((run) => (UNSPACED.test(run) ? pairs(run) : [stem(run.slice(0, MAX_WORD))]));
}

function pairs(run: string): readonly string[] {
  const characters = Array.from(run);
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, i) => `${characters[i]}${character}`);
}

function rawWords(text: string): readonly string[] {
  return text.match(WORD) ?? [];
}

/** getHTMLPage → get, HTML, Page. */
function camelParts(word: string): readonly string[] {
  // Most words of a text have no capital behind their first letter.
  if (!/(?!^)\p{Lu}/u.test(word)) return [word];
  return word
    .replaceAll(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, ' ')
    .replaceAll(/(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu, ' ')
    .split(' ');
}

function withoutAccents(text: string): string {
  return /[^\s!-~]/.test(text) ? decomposed(text) : text;
}

function decomposed(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .normalize('NFC');
}
