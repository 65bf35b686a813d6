import { members, type Span } from '../exchange/scanning/json-scan.ts';

/** URL parsers leave out spaces before a URL, and line ends within. */
const IS_UI = /^[\0- ]*u[\t\n\r]*i[\t\n\r]*:/i;
const NONE: readonly string[] = [];

/** Whether a URI is one of user interfaces that belong to tools (MCP Apps), in any spelling that a server may take for it. */
export function isUi(uri: string): boolean {
  return IS_UI.test(uri);
}

/** The `ui://` resources that the definition of a tool (JSON text) names, also where it names several. */
export function uiOf(tool: string): readonly string[] {
  let found: string[] | undefined;
  const add = ({ start, end }: Span): void => {
    const uri: unknown = tool.charAt(start) === '"' ? JSON.parse(tool.slice(start, end)) : undefined;
    if (typeof uri === 'string' && isUi(uri)) (found ??= []).push(uri);
  };
  for (const meta of members(tool)) {
    if (meta.key !== '_meta') continue;
    for (const member of members(tool, meta.start)) {
      if (member.key === 'ui/resourceUri') add(member);
      if (member.key !== 'ui') continue;
      for (const one of members(tool, member.start)) if (one.key === 'resourceUri') add(one);
    }
  }
  return found ?? NONE;
}

/** Which `ui://` resources clients must not see because of the tools that they belong to. */
export class HiddenUi {
  readonly #hidden = new Set<string>();
  readonly #visible: ReadonlySet<string>;

  /**
   * @param hidden what hidden tools name
   * @param visible what the others name
   */
  constructor(hidden: Iterable<string>, visible: Iterable<string>) {
    this.#visible = new Set(visible);
    for (const uri of hidden) if (!this.#visible.has(uri)) this.#hidden.add(normal(uri));
  }

  /** Servers differ in which spellings are the same to them, so any spelling is hidden that no visible tool names. */
  has(uri: string): boolean {
    return this.#hidden.size > 0 && isUi(uri) && !this.#visible.has(uri) && this.#hidden.has(normal(uri));
  }
}

export const NOTHING_HIDDEN = new HiddenUi([], []);

/** One spelling for all that differ in case of scheme and host, percent-encoding, dot segments or fragment (RFC 3986, section 6.2). */
function normal(uri: string): string {
  const text = (URL.parse(uri)?.href ?? uri.trim().replaceAll(/[\t\n\r]/g, ''))
    .replace(/#.*/s, '')
    .replaceAll(/(?:%[0-9a-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString('utf8'));
  const [, place = '', path = ''] = /^([^/]*(?:\/\/[^/?]*)?)(.*)$/s.exec(text) ?? [];
  return place.toLowerCase() + (path === '' || path.startsWith('?') ? `/${path}` : path);
}
