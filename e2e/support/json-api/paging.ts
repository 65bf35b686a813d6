import type { ApiRecord } from './records.ts';

/** How the API divides an answer, as its parameter `paging` says. */
export const PAGINGS = ['none', 'link', 'bodyLink', 'cursor', 'page', 'offset'] as const;
export type Paging = (typeof PAGINGS)[number];

export interface Page {
  readonly records: readonly ApiRecord[];
  readonly headers: Readonly<Record<string, string>>;
  /** Goes into the body, beside the records. */
  readonly meta: Readonly<Record<string, unknown>>;
}

/**
 * @param parameters those of the request: `cursor`, `page`, `offset`, and `size` before `pageSize`
 * @param url where the request went, which links are made from
 */
export function pageOf(
  all: readonly ApiRecord[],
  paging: Paging,
  parameters: Readonly<Record<string, string>>,
  { url, pageSize }: { readonly url: URL; readonly pageSize: number },
): Page {
  const size = Number(parameters['size'] ?? pageSize);
  const total = all.length;
  const cut = (from: number): readonly ApiRecord[] => all.slice(from, from + size);
  const bare = (from: number): Page => ({ records: cut(from), headers: {}, meta: { total } });
  switch (paging) {
    case 'page':
      return bare((Number(parameters['page'] ?? 1) - 1) * size);
    case 'offset':
      return bare(Number(parameters['offset'] ?? 0));
    case 'cursor': {
      // A cursor is nobody's business but the API's: it is no number, and not in order.
      const from = parameters['cursor'] === undefined ? 0 : Number.parseInt(parameters['cursor'].slice(2), 36);
      const next = from + size < total ? `c-${(from + size).toString(36)}` : null;
      return { records: cut(from), headers: {}, meta: { total, next } };
    }
    case 'link':
    case 'bodyLink': {
      const from = Number(parameters['after'] ?? 0);
      if (from + size >= total) return bare(from);
      const next = new URL(url);
      next.searchParams.set('after', String(from + size));
      if (paging === 'bodyLink') return { ...bare(from), meta: { total, next: next.pathname + next.search } };
      return { ...bare(from), headers: { link: `<${url.href}>; rel="first", <${next.href}>; rel="next"` } };
    }
    default:
      return { records: all, headers: {}, meta: { total } };
  }
}
