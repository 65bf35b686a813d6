import type { Resource } from '../../kubernetes/kubernetes.ts';
import { API_SCRAPE_SOURCES, MCP_ADAPTERS } from '../../kubernetes/resources.ts';

/** What a command is about. */
export interface Target {
  readonly resource: Resource;
  readonly name: string;
}

/** `NAME` or `mcpadapter/NAME` is a McpAdapter, `source/NAME` an ApiScrapeSource. */
export function targetOf(text: string): Target {
  const [, kind = '', name = ''] = /^(?:(mcpadapter|source)\/)?(.*)$/.exec(text) ?? [];
  return { resource: kind === 'source' ? API_SCRAPE_SOURCES : MCP_ADAPTERS, name };
}

/** Of a command that is about sources only: `NAME`, or `source/NAME` as others have it. */
export const sourceName = (text: string): string => text.replace(/^source\//, '');
