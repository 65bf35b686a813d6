import type { IncomingHttpHeaders } from 'node:http';
import type { Pagination } from '../../crds/config/scraper-file/pagination.ts';
import { ExactNumber } from '../../lib/json/exact-number.ts';
import { numberText } from '../records/python-text.ts';
import { shapeOf } from '../records/shape-mismatch.ts';
import { compilePath, type ValuePath } from '../records/value-path.ts';
import { RequestFailure } from './failure.ts';
import { nextLink } from './link-header.ts';

/** Which page is asked for. */
export interface PageStep {
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The whole address, when the last page named it. */
  readonly url?: string;
}

export interface PageAnswer {
  readonly body: unknown;
  readonly headers: IncomingHttpHeaders;
  /** Number of its records. */
  readonly records: number;
  /** Where it was asked for. */
  readonly url: string;
}

/** How one answer leads to the next; pure. */
export interface Pages {
  readonly first: PageStep;
  readonly maxPages: number;
  /**
   * Undefined after the last page.
   * @throws RequestFailure when the answer leads nowhere, or where it must not
   */
  next(step: PageStep, answer: PageAnswer): PageStep | undefined;
}

const ONE: Pages = { first: { parameters: {} }, maxPages: 1, next: () => undefined };

export function pagesOf(pagination: Pagination | null): Pages {
  switch (pagination?.type) {
    case 'nextLink':
      return byLink(pagination);
    case 'cursor':
      return byCursor(pagination);
    case 'page':
      return byPage(pagination);
    case 'offset':
      return byOffset(pagination);
    default:
      // A kind that has no case above is an error of types here, rather than a single page.
      pagination satisfies null;
      return ONE;
  }
}

type Of<T extends Pagination['type']> = Extract<Pagination, { type: T }>;

function byLink({ from, linkKey, sameHost, maxPages }: Of<'nextLink'>): Pages {
  const path = compilePath(linkKey ?? '');
  return {
    first: ONE.first,
    maxPages,
    next(_step, { body, headers, records, url }) {
      const link = from === 'header' ? nextLink(headers.link) : textAt(path, body, linkKey ?? '');
      if (link === undefined || link === '') return undefined;
      const target = URL.parse(link, url);
      if (target === null || !/^https?:$/.test(target.protocol)) {
        throw new RequestFailure('shape', 'the link to the next page is no URL');
      }
      const here = new URL(url);
      if (sameHost && !isSameHost(here, target)) {
        throw new RequestFailure('refused', `the next page is at ${target.origin}, and sameHost is true`);
      }
      target.username = '';
      target.password = '';
      target.hash = '';
      if (target.href === here.href) return endsOrLoops(records);
      return { parameters: {}, url: target.href };
    },
  };
}

/** The same host and port; from http to https is no other host, but the way back is. */
export function isSameHost(here: URL, target: URL): boolean {
  if (here.hostname !== target.hostname) return false;
  if (here.protocol === target.protocol) return here.port === target.port;
  return target.protocol === 'https:' && here.port === '' && target.port === '';
}

function byCursor({ cursorKey, cursorParam, maxPages }: Of<'cursor'>): Pages {
  const path = compilePath(cursorKey);
  return {
    first: ONE.first,
    maxPages,
    next({ parameters }, { body, records }) {
      const cursor = textAt(path, body, cursorKey);
      if (cursor === undefined || cursor === '') return undefined;
      return cursor === parameters[cursorParam] ? endsOrLoops(records) : { parameters: { [cursorParam]: cursor } };
    },
  };
}

function byPage({ pageParam, firstPage, sizeParam, pageSize, maxPages }: Of<'page'>): Pages {
  const page = (number: number): PageStep => ({ parameters: { [pageParam]: number, ...sized(sizeParam, pageSize) } });
  return {
    first: page(firstPage),
    maxPages,
    next: ({ parameters }, { records }) =>
      isLast(records, pageSize) ? undefined : page(Number(parameters[pageParam]) + 1),
  };
}

function byOffset({ offsetParam, sizeParam, pageSize, maxPages }: Of<'offset'>): Pages {
  const at = (offset: number): PageStep => ({ parameters: { [offsetParam]: offset, ...sized(sizeParam, pageSize) } });
  return {
    first: at(0),
    maxPages,
    next: ({ parameters }, { records }) =>
      isLast(records, pageSize) ? undefined : at(Number(parameters[offsetParam]) + records),
  };
}

const sized = (param: string | null, size: number | null): Record<string, number> =>
  param === null || size === null ? {} : { [param]: size };

const isLast = (records: number, pageSize: number | null): boolean =>
  records === 0 || (pageSize !== null && records < pageSize);

/** Some APIs end by pointing at the page itself, which then holds nothing. */
function endsOrLoops(records: number): undefined {
  if (records > 0) throw new RequestFailure('pages', 'the next page is the page itself');
}

/** A text or a number; undefined where there is none, which ends the pages. */
function textAt(path: ValuePath, body: unknown, key: string): string | undefined {
  const value = path(body, body);
  if (value === null || value === undefined || value === false) return undefined;
  if (typeof value === 'string') return value;
  if (value instanceof ExactNumber) return numberText(value);
  if (typeof value !== 'number') throw new RequestFailure('shape', `${key} is ${shapeOf(value)}, not a text or number`);
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new RequestFailure('shape', `${key} is a number of more digits than were read exactly`);
  }
  return numberText(value);
}
