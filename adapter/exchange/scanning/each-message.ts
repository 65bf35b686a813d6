import { elements, type Span, splice } from './json-scan.ts';

export const isArray = (text: string): boolean => text.trimStart().startsWith('[');

/** A message, or each of an array of them, after an edit. */
export function eachMessage(
  text: string,
  edit: (message: string) => string | Promise<string>,
): string | Promise<string> {
  if (!isArray(text)) return edit(text);
  const spans = [...elements(text)];
  const edited = spans.map(({ start, end }) => edit(text.slice(start, end)));
  if (edited.every((one) => typeof one === 'string')) return together(text, spans, edited);
  return Promise.all(edited.map(async (one) => one)).then((all) => together(text, spans, all));
}

function together(text: string, spans: readonly Span[], edited: readonly string[]): string {
  return splice(
    text,
    spans.map((span, i) => ({ ...span, with: edited[i] ?? '' })),
  );
}
