import type { ScraperSettings, Source } from '../../crds/config/scraper-file/scraper.ts';
import { looksSecret } from '../../lib/redaction/secret-names.ts';
import { isSameHost } from './pagination.ts';
import { asUrl, type Parameter, queryOf } from './query.ts';
import { formatTime } from '../times/strftime.ts';
import { ON_TIME_MS, timeMode, timePattern, unitMs, type Window } from './windows.ts';

export interface RequestParts {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  /** Without those of authentication, which overrule them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** What the parameters of a request depend on. */
export interface RequestContext {
  readonly source: Pick<Source, 'baseUrl' | 'endpoint' | 'scrape' | 'frequency'>;
  readonly settings: Pick<ScraperSettings, 'defaultTimeFormat'>;
  /** Undefined: the source has no times. */
  readonly window: Window | undefined;
  /** When the window is asked for, the same for all its pages. */
  readonly now: Date;
  /** Parameters of the page; they take the place of others with their name. */
  readonly page?: Readonly<Record<string, unknown>>;
  /** Where the last page says that this one is; it has its parameters already. */
  readonly next?: string;
}

/** One request, as it goes onto the wire but for its authentication. */
export function requestOf(context: RequestContext): RequestParts {
  const { source, next } = context;
  const { httpMethod: method, extraHeaders } = source.scrape;
  const url = sourceUrl(source);
  const parameters = parametersOf(context);
  const headers = { ...credentialsIn(url), ...extraHeaders };
  const where = next ?? withoutCredentials(url);
  if (method === 'GET') {
    return { method, url: next ?? withQuery(where, queryOf(parameters)), headers, body: undefined };
  }
  const isHome = isSameHost(new URL(url), new URL(where));
  const shown = isHome ? parameters : parameters.filter(({ name }) => !looksSecret(name));
  const body = JSON.stringify(Object.fromEntries(shown.map(({ name, value }) => [name, value])));
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  return { method, url: where, headers: hasType ? headers : { ...headers, 'Content-Type': 'application/json' }, body };
}

/**
 * The address of a source. An absolute URL as the endpoint replaces the base; a query of either stays, and comes before
 * the parameters. A colon in the endpoint (`items:list`) makes it no URL, as it did in the original.
 */
export function sourceUrl({ baseUrl, endpoint }: Pick<Source, 'baseUrl' | 'endpoint'>): string {
  if (/^https?:\/\//i.test(endpoint)) return normal(endpoint);
  const [base, baseQuery] = cut(baseUrl.replace(/#.*$/s, ''), '?');
  const [path, query] = cut(endpoint.replace(/#.*$/s, ''), '?');
  const queries = [baseQuery, query].filter((part) => part !== undefined && part !== '');
  const joined = `${base.replace(/\/+$/, '')}/${path.replace(/^\/+/, '')}`;
  return normal(queries.length === 0 ? joined : `${joined}?${queries.join('&')}`);
}

/** The path resolved by the rules of URLs; the query untouched, because these would escape more in it. */
function normal(url: string): string {
  const [path, query] = cut(url.replace(/#.*$/s, ''), '?');
  const { href } = new URL(path);
  return query === undefined ? href : `${href}?${asUrl(query)}`;
}

const withQuery = (url: string, query: string): string =>
  query === '' ? url : `${url}${url.includes('?') ? (/[?&]$/.test(url) ? '' : '&') : '?'}${query}`;

function cut(text: string, at: string): [string, string | undefined] {
  const index = text.indexOf(at);
  return index < 0 ? [text, undefined] : [text.slice(0, index), text.slice(index + 1)];
}

/** User name and password of a URL become a header, as browsers do it, and never stand in a request line or a log. */
function credentialsIn(url: string): Record<string, string> {
  const { username, password } = new URL(url);
  if (username === '' && password === '') return {};
  const pair = [username, password].map(decoded).join(':');
  return { Authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const withoutCredentials = (url: string): string => url.replace(/^(https?:\/\/)[^/?#]*@/i, '$1');

/** All parameters in the order of the wire: start, end, unit, value, extraArgs, page. */
function parametersOf({ source, settings, window, now, page = {} }: RequestContext): Parameter[] {
  const parameters = [...timeParameters(source, settings, window, now), ...extraParameters(source.scrape)];
  const replaced = parameters.filter(({ name }) => !Object.hasOwn(page, name));
  return [...replaced, ...Object.entries(page).map(([name, value]) => ({ name, value, raw: false }))];
}

function timeParameters(
  { scrape, frequency }: Pick<Source, 'scrape' | 'frequency'>,
  settings: RequestContext['settings'],
  window: Window | undefined,
  now: Date,
): Parameter[] {
  const { rangeKeys, urlEncodeTimeKeys, overlap } = scrape;
  const mode = timeMode(scrape);
  if (rangeKeys === null || window === undefined || mode === 'none') return [];
  if (mode === 'explicit') {
    const pattern = timePattern(scrape, settings.defaultTimeFormat);
    const start = new Date(window.start.getTime() - overlap);
    return [
      { name: rangeKeys.startKey ?? '', value: formatTime(start, pattern), raw: !urlEncodeTimeKeys },
      { name: rangeKeys.endKey ?? '', value: formatTime(window.end, pattern), raw: !urlEncodeTimeKeys },
    ];
  }
  const elapsed = now.getTime() - scrape.lag - window.start.getTime();
  return [
    { name: 'unit', value: rangeKeys.unit, raw: false },
    { name: 'value', value: relativeValue(rangeKeys, frequency, elapsed), raw: false },
  ];
}

/** On time: what the original sends. Late, after an outage or a failure: as many units as reach back to the start. */
function relativeValue(
  { unit, value, takeNegative }: NonNullable<Source['scrape']['rangeKeys']>,
  frequency: number | null,
  elapsed: number,
): unknown {
  if (value !== 'from-config' || unit === null) return value;
  const toStart = (milliseconds: number): number => Math.max(0, Math.ceil(milliseconds / unitMs(unit)));
  const isLate = frequency !== null && elapsed > frequency + ON_TIME_MS;
  // With cron there is no frequency; the window is what has passed since the last time.
  const units =
    frequency === null
      ? toStart(elapsed - ON_TIME_MS)
      : isLate
        ? toStart(elapsed)
        : Math.floor(frequency / unitMs(unit));
  return takeNegative && units !== 0 ? -units : units;
}

function extraParameters({ extraArgs }: Source['scrape']): Parameter[] {
  return Object.entries(extraArgs).map(([name, value]) =>
    typeof value === 'object' && value !== null && Object.hasOwn(value, 'noEncodeValue')
      ? { name, value: (value as { noEncodeValue: unknown }).noEncodeValue, raw: true }
      : { name, value, raw: false },
  );
}
