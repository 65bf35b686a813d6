import type { Wish } from '../access/wishes.ts';
import type { DisabledTools } from './disabled-tools.ts';

/** What a client sees of the tools of an upstream, and what beside them; all definitions are JSON texts. */
export interface Catalog {
  readonly disabled: DisabledTools;
  /** What the upstream says of its tools, made fit for a model; undefined where it is forwarded as it is. */
  readonly clean: CleanTool | undefined;
  /** By the name of a tool: its definition as it is shown. */
  readonly transforms: ReadonlyMap<string, (tool: string) => string>;
  /** Whether clients do not see what a tool says of its structured content. */
  readonly dropsSchema: ((tool: string) => boolean) | undefined;
  /** The adapter's own tools. An upstream's tool of the same name is hidden. */
  readonly own: readonly OwnTool[];
  /** What is listed instead of all tools, which can be called all the same (`code_mode_enabled`). */
  readonly instead: readonly OwnTool[] | undefined;
  /** Whether any list looks other than the upstream's. */
  readonly any: boolean;
}

export type CleanTool = (tool: string) => {
  /** Undefined: clients must not see this tool. */
  readonly text: string | undefined;
  /** Paths in the definition, for a log; empty where nobody has to hear of it. */
  readonly modified: readonly string[];
};

export interface OwnTool {
  readonly name: string;
  /** JSON text. */
  readonly definition: string;
  /** What a caller must be allowed to see the tool; undefined: nothing, for what it gives is asked about in its turn. */
  readonly wish?: Wish;
}

export function catalog(parts: {
  readonly disabled: DisabledTools;
  readonly clean?: CleanTool | undefined;
  readonly transforms?: Catalog['transforms'] | undefined;
  readonly dropsSchema?: Catalog['dropsSchema'];
  readonly own?: readonly OwnTool[] | undefined;
  readonly instead?: readonly OwnTool[] | undefined;
}): Catalog {
  const { disabled, clean, transforms = new Map<string, never>(), dropsSchema, own = [], instead } = parts;
  const changes = clean !== undefined || transforms.size > 0 || dropsSchema !== undefined;
  const any = disabled.any || changes || own.length > 0 || instead !== undefined;
  return { disabled, clean, transforms, dropsSchema, own, instead, any };
}

/** The tools that stand in a list beside the upstream's, or instead of them. */
export function listedOwn({ own, instead }: Catalog): readonly OwnTool[] {
  return instead ?? own;
}

/** Whether a tool is the adapter's own, listed or not. */
export function isOwnTool({ own, instead }: Catalog, name: string): boolean {
  const isIt = (tool: OwnTool): boolean => tool.name === name;
  return own.some(isIt) || (instead?.some(isIt) ?? false);
}

/** The tools/list result (JSON text) of an upstream that has no tools. */
export function ownToolsOnly(own: readonly OwnTool[]): string {
  return `{"tools":[${own.map(({ definition }) => definition).join(',')}]}`;
}
