import { elements, locate, members, type Span, splice } from '../exchange/json-scan.ts';
import { type Catalog, isOwnTool, listedOwn } from './catalog.ts';
import { insertElements } from './insert-elements.ts';

/** A tool of an upstream in one of its lists. Definitions are JSON texts. */
export interface ViewedTool {
  /** In the text of the result. */
  readonly span: Span;
  /** Undefined where it has none, and nothing is said about it then. */
  readonly name: string | undefined;
  /** The upstream's definition, clean: what is pinned. */
  readonly definition: string;
  /** The same with what the adapter adds. */
  readonly shown: string;
}

/** A tools/list result of an upstream, and which tools of it clients may see. */
export interface ToolView {
  /** JSON text, the upstream's. */
  readonly result: string;
  /** The list in it; undefined where there is none. */
  readonly list: Span | undefined;
  readonly tools: readonly ViewedTool[];
  /** Whether tools of the list are missing in `tools`. */
  readonly isShorter: boolean;
  /** Names of tools that are hidden because of what they say. */
  readonly blocked: ReadonlySet<string>;
}

export function toolView(result: string, catalog: Catalog): ToolView {
  const list = locate(result, ['tools']);
  const tools: ViewedTool[] = [];
  const blocked = new Set<string>();
  let count = 0;
  if (list !== undefined && result.charAt(list.start) === '[') {
    for (const span of elements(result, list.start)) {
      count++;
      const name = nameOf(result, span);
      if (name !== undefined && (catalog.disabled.matches(name) || isOwnTool(catalog, name))) continue;
      const text = result.slice(span.start, span.end);
      const definition = catalog.clean === undefined ? text : catalog.clean(text, name);
      if (definition === undefined) {
        if (name !== undefined) blocked.add(name);
        continue;
      }
      const shown = (name === undefined ? undefined : catalog.transforms.get(name))?.(definition) ?? definition;
      tools.push({ span, name, definition, shown });
    }
  }
  const isList = list !== undefined && result.charAt(list.start) === '[';
  return { result, list: isList ? list : undefined, tools, isShorter: tools.length < count, blocked };
}

/**
 * The result (JSON text) as a client gets it. `shown` are the definitions of the view's tools in their order, undefined
 * for one to hide. Whatever is neither removed nor changed stays byte for byte as the upstream wrote it.
 */
export function shownResult(
  view: ToolView,
  shown: readonly (string | undefined)[],
  catalog: Catalog,
  isFirstPage: boolean,
): string {
  const { result, list, tools } = view;
  if (list === undefined) return result;
  const added = isFirstPage ? listedOwn(catalog).map(({ definition }) => definition) : [];
  if (catalog.instead !== undefined) return splice(result, [{ ...list, with: `[${added.join(',')}]` }]);
  if (view.isShorter || shown.includes(undefined)) {
    const kept = shown.filter((one) => one !== undefined);
    return splice(result, [{ ...list, with: `[${[...kept, ...added].join(',')}]` }]);
  }
  const changed: (Span & { with: string })[] = [];
  for (const [i, { span }] of tools.entries()) {
    const text = shown[i] ?? '';
    if (text !== result.slice(span.start, span.end)) changed.push({ ...span, with: text });
  }
  return splice(result, [...changed, ...insertElements(result, list, added)]);
}

/** The result without its `nextCursor` and with the tools of further pages (JSON texts) at the end of its own. */
export function joinedPages(result: string, further: readonly string[]): string {
  const list = locate(result, ['tools']);
  if (list === undefined) return result;
  const out = splice(result, insertElements(result, list, further));
  const kept = [...members(out)].filter(({ key }) => key !== 'nextCursor');
  return `{${kept.map(({ keyStart, end }) => out.slice(keyStart, end)).join(',')}}`;
}

function nameOf(text: string, tool: Span): string | undefined {
  const name = locate(text, ['name'], tool.start);
  if (text.charAt(tool.start) !== '{' || name === undefined || text.charAt(name.start) !== '"') return undefined;
  return JSON.parse(text.slice(name.start, name.end)) as string;
}
