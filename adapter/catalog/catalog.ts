import { elements, locate, type Span, splice } from '../exchange/json-scan.ts';
import { insertElements } from './insert-elements.ts';
import type { DisabledTools } from './disabled-tools.ts';

/** What a client sees of the tools of an upstream, and what beside them. */
export interface Catalog {
  readonly disabled: DisabledTools;
  /** By the name of a tool: its definition (JSON text) as it is shown. */
  readonly transforms: ReadonlyMap<string, (tool: string) => string>;
  /** The adapter's own tools, after those of the first page. An upstream's tool of the same name is hidden. */
  readonly own: readonly OwnTool[];
  /** Whether any list looks other than the upstream's. */
  readonly any: boolean;
}

export interface OwnTool {
  readonly name: string;
  /** JSON text. */
  readonly definition: string;
}

export function catalog(parts: {
  readonly disabled: DisabledTools;
  readonly transforms?: Catalog['transforms'];
  readonly own?: readonly OwnTool[];
}): Catalog {
  const { disabled, transforms = new Map<string, never>(), own = [] } = parts;
  return { disabled, transforms, own, any: disabled.any || transforms.size > 0 || own.length > 0 };
}

/**
 * The tools that a client sees. Takes and returns the JSON text of a tools/list result; whatever is neither removed nor
 * changed stays byte for byte as the upstream wrote it.
 */
export function visibleTools(
  result: string,
  { disabled, transforms, own, any }: Catalog,
  isFirstPage: boolean,
): string {
  if (!any) return result;
  const tools = locate(result, ['tools']);
  if (tools === undefined || result.charAt(tools.start) !== '[') return result;
  const kept: string[] = [];
  const changed: (Span & { with: string })[] = [];
  let removed = false;
  for (const span of elements(result, tools.start)) {
    const name = nameOf(result, span);
    if (name !== undefined && (disabled.matches(name) || own.some((one) => one.name === name))) {
      removed = true;
      continue;
    }
    const text = result.slice(span.start, span.end);
    const shown = (name === undefined ? undefined : transforms.get(name))?.(text) ?? text;
    if (shown !== text) changed.push({ ...span, with: shown });
    kept.push(shown);
  }
  const added = isFirstPage ? own.map(({ definition }) => definition) : [];
  if (removed) return splice(result, [{ ...tools, with: `[${[...kept, ...added].join(',')}]` }]);
  return splice(result, [...changed, ...insertElements(result, tools, added)]);
}

/** The result of tools/list where the upstream knows no tools at all. */
export function ownToolsOnly({ own }: Catalog): string {
  return `{"tools":[${own.map(({ definition }) => definition).join(',')}]}`;
}

function nameOf(result: string, tool: Span): string | undefined {
  const name = locate(result, ['name'], tool.start);
  if (name === undefined || result.charAt(name.start) !== '"') return undefined;
  return JSON.parse(result.slice(name.start, name.end)) as string;
}
