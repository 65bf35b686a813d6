import type { ToolView } from '../../catalog/tool-view.ts';

/**
 * The first page of a list that was joined from pages, where further tools stand behind those of the first (see
 * `joinedPages`).
 * @param page JSON text of its list
 */
export function firstPage(whole: ToolView, page: string): ToolView {
  const last = page.length - 1;
  return { ...whole, list: page, tools: whole.tools.filter(({ span }) => span.end <= last) };
}
