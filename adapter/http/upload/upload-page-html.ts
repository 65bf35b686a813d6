/** Text of a page that needs no escaping any more. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Content = string | number | Html | undefined | readonly Content[];

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Builds a page: everything put in is escaped, but what was built in this way itself. For text and quoted attributes. */
export function markup(strings: TemplateStringsArray, ...values: readonly Content[]): Html {
  let text = strings[0] ?? '';
  for (const [i, value] of values.entries()) text += render(value) + (strings[i + 1] ?? '');
  return new Html(text);
}

function render(value: Content): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(render).join('');
  return String(value).replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}
