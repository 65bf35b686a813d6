import { describe, expect, test } from 'vitest';
import { loadScraperConfig } from '../../crds/config/load/load.ts';
import { redactedScraperConfig } from '../../crds/config/scraper-file/redact.ts';
import { loadScraper, scraperSampleWith } from '../../crds/config/testing/scraper-sample.ts';
import { type RequestContext, requestOf, sourceUrl } from './parameters.ts';

const WINDOW = { start: new Date('2025-11-28T10:15:00Z'), end: new Date('2025-11-28T10:20:00Z') };

function request(values: Record<string, unknown>, context: Partial<RequestContext> = {}) {
  const { scraper: settings, sources } = loadScraper(scraperSampleWith(values));
  const [source] = sources;
  if (source === undefined) throw new Error('the sample has no source');
  return requestOf({ source, settings, window: WINDOW, now: WINDOW.end, ...context });
}

/** The query of a GET request, or the body of a POST request. */
function sent(values: Record<string, unknown>, context: Partial<RequestContext> = {}): unknown {
  const { url, body } = request(values, context);
  return body === undefined ? url.replace(/^[^?]*\??/, '') : JSON.parse(body);
}

const KEYS = 'source.scrape.rangeKeys';
const ARGS = 'source.scrape.extraArgs';

describe('the address', () => {
  test.each([
    ['https://h/api', 'v1/x', 'https://h/api/v1/x'],
    ['https://h/api//', '//v1/x', 'https://h/api/v1/x'],
    ['https://h', '', 'https://h/'],
    ['https://h/api', '', 'https://h/api/'],
    ['https://h/a/b', '../c', 'https://h/a/c'],
    ['https://h/api', 'https://other:8443/y?z=1', 'https://other:8443/y?z=1'],
    ['https://h/api', 'items:list', 'https://h/api/items:list'],
    ['https://h/api', 'x?a=1', 'https://h/api/x?a=1'],
    ['https://h/api?key=1', 'x?a=b:c,d e', 'https://h/api/x?key=1&a=b:c,d%20e'],
    ['https://h/api#top', 'x#bottom', 'https://h/api/x'],
    ['https://H/api', 'ä b', 'https://h/api/%C3%A4%20b'],
  ])('%s and %j', (baseUrl, endpoint, url) => {
    expect(sourceUrl({ baseUrl, endpoint })).toBe(url);
  });

  test('a query of the endpoint comes before the parameters', () => {
    expect(request({ 'source.endpoint': '/x?a=1', [ARGS]: { b: 2 }, [KEYS]: {} }).url).toBe(
      'https://api.example.com/x?a=1&b=2',
    );
  });

  test('credentials in it become a header', () => {
    const { url, headers } = request({ 'source.baseUrl': 'https://user:p%40ss@h', [KEYS]: {} });
    expect(url).toBe('https://h/v1/events');
    expect(headers).toEqual({ Authorization: `Basic ${Buffer.from('user:p@ss').toString('base64')}` });
  });
});

describe('times', () => {
  test('are sent as they are, in the default format', () => {
    expect(sent({})).toBe('from=2025-11-28T10:15:00+0000&to=2025-11-28T10:20:00+0000');
  });

  test('or encoded', () => {
    expect(sent({ 'source.scrape.urlEncodeTimeKeys': true })).toBe(
      'from=2025-11-28T10%3A15%3A00%2B0000&to=2025-11-28T10%3A20%3A00%2B0000',
    );
  });

  test.each([
    [{ 'source.scrape.timeFormat': '%s' }, 'from=1764324900&to=1764325200'],
    [{ 'scraper.defaultTimeFormat': '' }, 'from=2025-11-28T10:15:00+00:00&to=2025-11-28T10:20:00+00:00'],
    [{ 'source.scrape.timeFormat': '%F %H' }, 'from=2025-11-28%2010&to=2025-11-28%2010'],
    [{ 'source.scrape.timeFormat': 'unix_ms' }, 'from=1764324900000&to=1764325200000'],
  ])('%j', (values, query) => {
    expect(sent(values)).toBe(query);
  });

  test('reach back by the overlap', () => {
    expect(sent({ 'source.scrape.overlap': '60s', 'source.scrape.timeFormat': '%T' })).toBe(
      'from=10:14:00&to=10:20:00',
    );
  });

  test('are not sent with one key, with none, or by an instant source', () => {
    expect(sent({ [KEYS]: { startKey: 'from' } })).toBe('');
    expect(sent({ [KEYS]: {} })).toBe('');
    expect(sent({ 'source.scrape.type': 'instant' })).toBe('');
    expect(sent({}, { window: undefined })).toBe('');
  });
});

describe('relative times', () => {
  test.each([
    [{ unit: 'minutes' }, '1h', 'unit=minutes&value=60'],
    [{ unit: 'minutes', takeNegative: true }, '90s', 'unit=minutes&value=-1'],
    [{ unit: 'hours', takeNegative: true }, '5m', 'unit=hours&value=0'],
    [{ unit: 'weeks' }, '15d', 'unit=weeks&value=2'],
    [{ unit: 'months' }, '1mon', 'unit=months&value=1'],
    [{ unit: 'days', value: -7, takeNegative: true }, '1h', 'unit=days&value=-7'],
    [{ unit: 'days', value: '-P1D' }, '1h', 'unit=days&value=-P1D'],
    [{ unit: 'days', value: null }, '1h', 'unit=days&value=None'],
    [{ unit: 'days', startKey: 'from' }, '1d', 'unit=days&value=1'],
  ])('%j every %s', (rangeKeys, frequency, query) => {
    expect(sent({ [KEYS]: rangeKeys, 'source.frequency': frequency }, { now: WINDOW.start })).toBe(query);
  });

  const after = (seconds: number) => ({ now: new Date(WINDOW.start.getTime() + seconds * 1000) });

  test.each([
    ['on time', 305, {}, 5],
    ['late', 306, {}, 6],
    ['hours late', 6 * 3600, {}, 360],
    ['as late as lag says', 420, { 'source.scrape.lag': '2m' }, 5],
    ['later than lag says', 480, { 'source.scrape.lag': '2m' }, 6],
    [
      'at the time of cron, give or take a moment',
      299.9,
      { 'source.frequency': undefined, 'source.cron': '* * * * *' },
      5,
    ],
    ['after that', 310, { 'source.frequency': undefined, 'source.cron': '* * * * *' }, 6],
    ['late with a value of its own', 6 * 3600, { [KEYS]: { unit: 'minutes', value: 7 } }, 7],
  ])('%s, a request reaches back to the start of its window', (_when, seconds, values, value) => {
    const fields = { [KEYS]: { unit: 'minutes' }, 'source.frequency': '5m', ...values };
    expect(sent(fields, after(seconds))).toBe(`unit=minutes&value=${value}`);
  });

  test('a number stays one in a POST body', () => {
    expect(sent({ [KEYS]: { unit: 'minutes' }, 'source.scrape.httpMethod': 'POST' })).toEqual({
      unit: 'minutes',
      value: 5,
    });
  });
});

describe('extra arguments', () => {
  const args = { limit: 100, on: true, q: { noEncodeValue: 'a:b' }, l: ['a', 'b'], last: 'x y' };

  test('follow the times, the raw ones at the end', () => {
    expect(sent({ [ARGS]: args, 'source.scrape.timeFormat': '%s', 'source.scrape.urlEncodeTimeKeys': true })).toBe(
      'from=1764324900&to=1764325200&limit=100&on=True&l=a&l=b&last=x+y&q=a:b',
    );
    expect(sent({ [ARGS]: args, 'source.scrape.timeFormat': '%s' })).toBe(
      'limit=100&on=True&l=a&l=b&last=x+y&from=1764324900&to=1764325200&q=a:b',
    );
  });

  test('all go into one JSON object with POST', () => {
    const values = { [ARGS]: { ...args, deep: { a: [1, null] } }, 'source.scrape.httpMethod': 'POST' };
    const post = request({ ...values, 'source.scrape.timeFormat': '%s' });
    expect(post).toMatchObject({ method: 'POST', url: 'https://api.example.com/v1/events' });
    expect(post.headers).toEqual({ 'Content-Type': 'application/json' });
    expect(post.body).toBe(
      '{"from":"1764324900","to":"1764325200","limit":100,"on":true,"q":"a:b","l":["a","b"],"last":"x y","deep":{"a":[1,null]}}',
    );
  });

  test('none leave an empty object with POST, and no question mark with GET', () => {
    expect(request({ [KEYS]: {}, 'source.scrape.httpMethod': 'POST' }).body).toBe('{}');
    expect(request({ [KEYS]: {} }).url).toBe('https://api.example.com/v1/events');
  });
});

test('parameters of the page take the place of others with their name', () => {
  const values = { [KEYS]: {}, [ARGS]: { page: 1, size: { noEncodeValue: 5 } } };
  expect(sent(values, { page: { page: 2, cursor: 'a+b=' } })).toBe('page=2&cursor=a%2Bb%3D&size=5');
  expect(sent({ ...values, 'source.scrape.httpMethod': 'POST' }, { page: { page: 2 } })).toEqual({ page: 2, size: 5 });
});

test('the address of the next page is taken as it is; POST repeats its body', () => {
  const next = 'https://api.example.com/v1/events?cursor=x%2F';
  expect(request({}, { next })).toMatchObject({ url: next, body: undefined });
  const post = { [KEYS]: {}, [ARGS]: { a: 1 }, 'source.scrape.httpMethod': 'POST' };
  expect(request(post, { next })).toMatchObject({ url: next, body: '{"a":1}' });
});

test('a content type of the user stays', () => {
  const values = { 'source.scrape.httpMethod': 'POST', 'source.scrape.extraHeaders': { 'content-type': 'text/json' } };
  expect(request(values).headers).toEqual({ 'content-type': 'text/json' });
});

describe('numbers of extraArgs keep their spelling', () => {
  const configOf = (method: string) =>
    loadScraperConfig(
      `scraper: {otelCollectorEndpoint: "http://c", otelTransport: http, enforceTls: false}
sources:
  - name: s
    frequency: 1m
    baseUrl: http://api
    endpoint: x
    scrape:
      type: instant
      httpMethod: ${method}
      extraArgs: {<<: {merged: 2.0}, f: 1.0, e: 1e3, big: 12345678901234567890, hex: 0x1F, list: [1.50, 7], raw: {noEncodeValue: 3.0}}
`,
      {},
    );
  const partsOf = (method: string) => {
    const { scraper: settings, sources } = configOf(method);
    const [source] = sources;
    if (source === undefined) throw new Error('no source');
    return requestOf({ source, settings, window: undefined, now: WINDOW.end });
  };

  test('in a query', () => {
    expect(partsOf('GET').url).toMatch(
      /\?(merged=2\.0&)?f=1\.0&e=1e3&big=12345678901234567890&hex=31&list=1\.50&list=7(&merged=2\.0)?&raw=3\.0$/,
    );
    expect(partsOf('GET').url).toContain('merged=2.0');
  });

  test('in a body', () => {
    expect(partsOf('POST').body).toContain(
      '"f":1.0,"e":1e3,"big":12345678901234567890,"hex":31,"list":[1.50,7],"raw":3.0',
    );
  });

  test('and where the configuration is shown', () => {
    expect(JSON.stringify(redactedScraperConfig(configOf('GET')))).toContain(
      '"f":1.0,"e":1e3,"big":12345678901234567890',
    );
  });
});
