/** Controls, and characters that change how others are shown: a terminal acts on them. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** What somebody else wrote, on one line of a terminal. */
export const visible = (text: string): string =>
  text.replaceAll(UNSAFE, (character) => {
    if (character === '\n' || character === '\t') return ' ';
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });

/** The sequences that change nothing but colours. Source: ECMA-48, "SGR". */
// oxlint-disable-next-line no-control-regex -- they begin with one
const COLOURS = /(\u001B\[[0-9;]*m)/;

/** Lines that somebody else wrote, with their colours. */
export const coloured = (text: string): string =>
  text
    .split('\n')
    .map((line) =>
      line
        .split(COLOURS)
        .map((part, index) => (index % 2 === 1 ? part : visible(part)))
        .join(''),
    )
    .join('\n');
