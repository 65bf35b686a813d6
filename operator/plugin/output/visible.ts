/** Controls, and characters that change how others are shown: a terminal acts on them. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** What somebody else wrote, on one line of a terminal. */
export const visible = (text: string): string =>
  text.replaceAll(UNSAFE, (character) => {
    if (character === '\n' || character === '\t') return ' ';
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
