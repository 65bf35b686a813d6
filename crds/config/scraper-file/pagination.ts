import { z } from 'zod';
import { flag, integer, nonBlank, oneOf } from '../values/values.ts';

/** Section `scrape.pagination` of a source: how an answer leads to the next one. New: the original has none. */

const maxPages = integer({ min: 1 })
  .describe('Most pages of one window. With more, the window fails rather than lose records.')
  .prefault(1000);

const NextLink = z.strictObject({
  type: z.literal('nextLink').describe('`nextLink`: the answer holds the URL of the next page.'),
  from: oneOf(['header', 'body'])
    .describe('Where the URL stands: in the header `Link` (rel="next"), or at `linkKey` of the body.')
    .prefault('header'),
  linkKey: nonBlank('a path such as paging.next')
    .describe('Path of the URL in the answer. Required when `from` is `body`.')
    .nullable()
    .prefault(null),
  sameHost: flag()
    .describe('Refuse URLs of another host. When false they are followed, but without credentials and `extraHeaders`.')
    .prefault(true),
  maxPages,
});

const Cursor = z.strictObject({
  type: z.literal('cursor').describe('`cursor`: the answer holds a value that the next request repeats.'),
  cursorKey: nonBlank('a path such as meta.next').describe(
    'Path of the cursor in the answer. Without a cursor, or with an empty one, the page is the last.',
  ),
  cursorParam: nonBlank().describe('Parameter that takes the cursor.'),
  maxPages,
});

const Page = z.strictObject({
  type: z.literal('page').describe('`page`: pages are counted. A page without records is the last.'),
  pageParam: nonBlank().describe('Parameter that takes the number of the page.').prefault('page'),
  firstPage: integer({ min: 0 }).describe('Number of the first page.').prefault(1),
  sizeParam: nonBlank().describe('Parameter that takes the size of a page. Null: none.').nullable().prefault(null),
  pageSize: integer({ min: 1 })
    .describe('Size of a page. A page with fewer records is the last. Null: unknown.')
    .nullable()
    .prefault(null),
  maxPages,
});

const Offset = z.strictObject({
  type: z.literal('offset').describe('`offset`: the next request says how many records to leave out.'),
  offsetParam: nonBlank().describe('Parameter that takes the number of records to leave out.').prefault('offset'),
  sizeParam: nonBlank().describe('Parameter that takes the size of a page. Null: none.').nullable().prefault(null),
  pageSize: integer({ min: 1 })
    .describe('Size of a page. A page with fewer records is the last. Null: unknown.')
    .nullable()
    .prefault(null),
  maxPages,
});

const KINDS = [NextLink, Cursor, Page, Offset] as const;
const TYPES = KINDS.map(({ shape }) => shape.type.value).join(', ');

export const Pagination = z.discriminatedUnion('type', KINDS, {
  error: ({ code }) =>
    code === 'invalid_union' ? `one of ${TYPES}` : `a mapping with a type, which is one of ${TYPES}`,
});
export type Pagination = z.output<typeof Pagination>;
