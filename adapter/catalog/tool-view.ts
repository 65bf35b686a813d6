import { elements, locate, members, type Span, splice } from '../exchange/scanning/json-scan.ts';
import type { Pin } from './baseline.ts';
import type { OwnTool } from './catalog.ts';
import { insertElements } from './insert-elements.ts';
import type { PreparedTool } from './prepared-tool.ts';

/** A tool of an upstream in one of its lists. Definitions are JSON texts. */
export interface ViewedTool {
  /** In the text of the list. */
  readonly span: Span;
  /** Undefined where it has none, and nothing is said about it then. */
  readonly name: string | undefined;
  /** Where tools are pinned. */
  readonly pin: Pin | undefined;
  /** What is pinned. */
  readonly clean: string;
  /** As clients see it to whom nothing is to be said about changes. */
  readonly shown: string;
  /** The `ui://` resources that it names. */
  readonly ui: readonly string[];
}

/** The list of a tools/list result of an upstream, and which tools of it clients may see. */
export interface ToolView {
  /** JSON text, the upstream's. */
  readonly list: string;
  readonly tools: readonly ViewedTool[];
  /** Whether tools of the list are missing in `tools`. */
  readonly isShorter: boolean;
  /** Names of tools that are hidden because of what they say. */
  readonly blocked: ReadonlySet<string>;
  /** The `ui://` resources that tools name which are missing in `tools`. */
  readonly hiddenUi: readonly string[];
  /** Of the definitions that are shown in another way than the upstream's. */
  readonly ownChars: number;
}

/** Where the list stands in a tools/list result (JSON text); undefined where there is none. */
export function listIn(result: string): Span | undefined {
  const list = locate(result, ['tools']);
  return list !== undefined && result.charAt(list.start) === '[' ? list : undefined;
}

/** Takes a step for each tool of a list (JSON text), so that a long one does not have to be looked at in one go. */
export function* toolView(list: string, prepare: (definition: string) => PreparedTool): Generator<void, ToolView> {
  const tools: ViewedTool[] = [];
  const blocked = new Set<string>();
  const hiddenUi: string[] = [];
  let count = 0;
  let ownChars = 0;
  for (const span of elements(list)) {
    count++;
    const definition = list.slice(span.start, span.end);
    const { name, fate, clean, shown, pin, ui } = prepare(definition);
    const own = shown ?? clean;
    ownChars += own?.length ?? 0;
    if (fate === 'shown') tools.push({ span, name, pin, clean: clean ?? definition, shown: own ?? definition, ui });
    else {
      hiddenUi.push(...ui);
      if (fate === 'blocked' && name !== undefined) blocked.add(name);
    }
    yield;
  }
  return { list, tools, isShorter: tools.length < count, blocked, hiddenUi, ownChars };
}

/**
 * The list (JSON text) as a client gets it. `shown` are the definitions of the view's tools in their order, undefined
 * for one to hide. Whatever is neither removed nor changed stays byte for byte as the upstream wrote it.
 * @param own tools of the adapter that stand at its end
 * @param isReplaced they stand there instead of all others
 */
export function shownList(
  { list, tools, isShorter }: ToolView,
  shown: readonly (string | undefined)[],
  own: readonly OwnTool[],
  isReplaced: boolean,
): string {
  const added = own.map(({ definition }) => definition);
  if (isReplaced) return `[${added.join(',')}]`;
  if (isShorter || shown.includes(undefined)) {
    return `[${[...shown.filter((one) => one !== undefined), ...added].join(',')}]`;
  }
  const changed: (Span & { with: string })[] = [];
  for (const [i, { span }] of tools.entries()) {
    const text = shown[i] ?? '';
    if (text !== list.slice(span.start, span.end)) changed.push({ ...span, with: text });
  }
  return splice(list, [...changed, ...insertElements(list, { start: 0, end: list.length }, added)]);
}

/** The result without its `nextCursor` and with the entries of further pages (JSON texts) at the end of its own list. */
export function joinedPages(result: string, member: string, further: readonly string[]): string {
  const list = locate(result, [member]);
  if (list === undefined) return result;
  const out = splice(result, insertElements(result, list, further));
  const kept = [...members(out)].filter(({ key }) => key !== 'nextCursor');
  return `{${kept.map(({ keyStart, end }) => out.slice(keyStart, end)).join(',')}}`;
}
