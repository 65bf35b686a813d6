import type { SeenRequest } from '../../../scraper/requests/testing/test-server.ts';
import { type FieldCases, queryOf, RECORDS, type Reply, type Seen, type World } from './field-case.ts';

const PAGES = 4;
const asked = ({ requests }: Seen): number => requests.length;
const pathOf = ({ target }: SeenRequest): string => new URL(target, 'http://x').pathname;
const numberIn = ({ target }: SeenRequest, name: string, otherwise: number): number =>
  Number(new URL(target, 'http://x').searchParams.get(name) ?? otherwise);

/** Four pages that name the next one in the header and at `next` and `links.next` of the body. */
const linked =
  (host = '') =>
  (request: SeenRequest): Reply => {
    const page = numberIn(request, 'p', 1);
    const next = page < PAGES ? `${host}${pathOf(request)}?p=${page + 1}` : undefined;
    return {
      headers: next === undefined ? {} : { link: `<${next}>; rel="next"` },
      body: { items: RECORDS, next, links: { next } },
    };
  };
/** Four pages, the first of which needs no cursor; it may have either name. */
const byCursor = (request: SeenRequest) => {
  const page = numberIn(request, 'cursor', numberIn(request, 'after', 1));
  return { body: { items: RECORDS, cursor: page < PAGES ? `${page + 1}` : null } };
};
/** Four pages of two records. */
const counted = (request: SeenRequest) => ({ body: numberIn(request, 'page', 1) <= PAGES ? RECORDS : [] });
const offset = (request: SeenRequest) => ({
  body: numberIn(request, 'offset', 0) < PAGES * RECORDS.length ? RECORDS : [],
});

const paging = (pagination: Record<string, unknown>, more: Record<string, unknown> = {}) => ({
  'scrape.pagination': pagination,
  ...more,
});
const ITEMS = { dataKey: 'items' };
const NONE = { without: { 'scrape.pagination': null } };
const CURSOR = { type: 'cursor', cursorKey: 'cursor', cursorParam: 'cursor' };
const tooMany = (seen: Seen): boolean => seen.lastError?.includes('more than 2 pages') === true && asked(seen) === 2;
const ONCE = { 'scrape.retry': { maxAttempts: 1 } };

/** How one answer leads to the next. */
export const paginationFields = ({ api }: World): FieldCases => {
  const elsewhere = api.replace('127.0.0.1', 'localhost');
  return {
    'sources[].scrape.pagination(nextLink).type': {
      value: 'nextLink',
      having: ITEMS,
      ...NONE,
      answer: linked(),
      shows: (seen) => asked(seen) === PAGES,
    },
    'sources[].scrape.pagination(nextLink).from': {
      value: 'body',
      having: paging({ type: 'nextLink', linkKey: 'links.next' }, ITEMS),
      answer: (request) => ({ ...linked()(request), headers: {} }),
      shows: (seen) => asked(seen) === PAGES,
    },
    'sources[].scrape.pagination(nextLink).linkKey': {
      value: 'next',
      instead: 'elsewhere',
      having: paging({ type: 'nextLink', from: 'body' }, ITEMS),
      answer: linked(),
      shows: (seen) => asked(seen) === PAGES,
    },
    'sources[].scrape.pagination(nextLink).sameHost': {
      value: false,
      having: paging({ type: 'nextLink' }, { ...ITEMS, ...ONCE }),
      answer: linked(elsewhere),
      shows: (seen) => asked(seen) === PAGES,
    },
    'sources[].scrape.pagination(nextLink).maxPages': {
      value: 2,
      having: paging({ type: 'nextLink' }, { ...ITEMS, ...ONCE }),
      answer: linked(),
      shows: tooMany,
    },
    'sources[].scrape.pagination(cursor).type': {
      value: 'cursor',
      having: paging(CURSOR, ITEMS),
      ...NONE,
      answer: byCursor,
      shows: (seen) => asked(seen) === PAGES,
    },
    'sources[].scrape.pagination(cursor).cursorKey': {
      value: 'cursor',
      instead: 'elsewhere',
      having: paging(CURSOR, ITEMS),
      answer: byCursor,
      shows: (seen) => asked(seen) === PAGES,
    },
    'sources[].scrape.pagination(cursor).cursorParam': {
      value: 'after',
      instead: 'cursor',
      having: paging(CURSOR, ITEMS),
      answer: byCursor,
      shows: (seen) => queryOf(seen, 1).get('after') === '2',
    },
    'sources[].scrape.pagination(cursor).maxPages': {
      value: 2,
      having: paging(CURSOR, { ...ITEMS, ...ONCE }),
      answer: byCursor,
      shows: tooMany,
    },
    'sources[].scrape.pagination(page).type': {
      value: 'page',
      ...NONE,
      answer: counted,
      shows: (seen) => asked(seen) === PAGES + 1,
    },
    'sources[].scrape.pagination(page).pageParam': {
      value: 'p',
      having: paging({ type: 'page' }),
      answer: (_, count) => ({ body: count === 1 ? RECORDS : [] }),
      shows: (seen) => queryOf(seen, 1).get('p') === '2',
    },
    'sources[].scrape.pagination(page).firstPage': {
      value: 0,
      having: paging({ type: 'page' }),
      answer: counted,
      shows: (seen) => queryOf(seen).get('page') === '0',
    },
    'sources[].scrape.pagination(page).sizeParam': {
      value: 'per_page',
      having: paging({ type: 'page', pageSize: 3 }),
      answer: counted,
      shows: (seen) => queryOf(seen).get('per_page') === '3',
    },
    'sources[].scrape.pagination(page).pageSize': {
      value: 3,
      having: paging({ type: 'page' }),
      answer: counted,
      shows: (seen) => seen.points.length > 0 && asked(seen) === 1,
    },
    'sources[].scrape.pagination(page).maxPages': {
      value: 2,
      having: paging({ type: 'page' }, ONCE),
      answer: counted,
      shows: tooMany,
    },
    'sources[].scrape.pagination(offset).type': {
      value: 'offset',
      ...NONE,
      answer: offset,
      shows: (seen) => asked(seen) === PAGES + 1,
    },
    'sources[].scrape.pagination(offset).offsetParam': {
      value: 'skip',
      having: paging({ type: 'offset' }),
      answer: (_, count) => ({ body: count === 1 ? RECORDS : [] }),
      shows: (seen) => queryOf(seen, 1).get('skip') === '2',
    },
    'sources[].scrape.pagination(offset).sizeParam': {
      value: 'limit',
      having: paging({ type: 'offset', pageSize: 3 }),
      answer: offset,
      shows: (seen) => queryOf(seen).get('limit') === '3',
    },
    'sources[].scrape.pagination(offset).pageSize': {
      value: 3,
      having: paging({ type: 'offset' }),
      answer: offset,
      shows: (seen) => seen.points.length > 0 && asked(seen) === 1,
    },
    'sources[].scrape.pagination(offset).maxPages': {
      value: 2,
      having: paging({ type: 'offset' }, ONCE),
      answer: offset,
      shows: tooMany,
    },
  };
};
