import type { ServerResponse } from 'node:http';
import { brotliCompressSync, gzipSync } from 'node:zlib';

/** An answer of an API that is wrong, or only looks so, and what the scraper says about it. */
export interface WrongAnswer {
  readonly answer: (response: ServerResponse) => void;
  /** What `last_error` says; a number: nothing is wrong, and so many records are emitted. */
  readonly says: RegExp | number;
  /** Of the source, by path. */
  readonly having?: Readonly<Record<string, unknown>>;
}

const RECORD = '{"id":1,"v":1}';

const sends =
  (body: string | Buffer, headers: Record<string, string> = {}, status = 200) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
/** What stands on the wire, byte for byte; then the connection ends. */
const wire =
  (text: string) =>
  (response: ServerResponse): void =>
    void response.socket?.end(text.replaceAll('\n', '\r\n'));
const body = (text: string | Buffer, says: RegExp | number, having?: Record<string, unknown>): WrongAnswer => ({
  answer: sends(text),
  says,
  ...(having === undefined ? {} : { having }),
});
const status = (code: number, says: RegExp, headers: Record<string, string> = {}): WrongAnswer => ({
  answer: sends('{"error":"no"}', headers, code),
  says,
});
const encoded = (bytes: Buffer, encoding: string, says: RegExp | number): WrongAnswer => ({
  answer: sends(bytes, { 'content-encoding': encoding }),
  says,
});

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const zipped = gzipSync(`[${RECORD}]`);
const SMALL = { 'scrape.maxResponseBytes': '64Ki' };
const ITEMS = { dataKey: 'items' };

/** In the same order always: each becomes a source of its own. */
export const WRONG_ANSWERS: Readonly<Record<string, WrongAnswer>> = {
  // No JSON.
  html: { answer: sends('<html>login</html>', { 'content-type': 'text/html' }), says: /answered 200 \(text\/html\)/ },
  empty: body('', /answered 200, empty/),
  blank: body(' \r\n ', /answered 200, empty/),
  'no content': { answer: sends('', {}, 204), says: /answered 204, empty/ },
  cut: body(`[${RECORD},{"id":`, /not_json: .*answered 200/),
  'something behind it': body(`[${RECORD}] x`, /not_json/),
  'two documents': body(`[${RECORD}]\n[${RECORD}]`, /not_json/),
  'single quotes': body("[{'id': 1}]", /not_json/),
  'a comma too many': body(`[${RECORD},]`, /not_json/),
  'a comment': body(`[${RECORD}] // end`, /not_json/),
  'a zero byte': body(`[${RECORD}\u0000]`, /not_json/),
  Latin1: body(Buffer.from('[{"name":"Zo\u00eb"}]', 'latin1'), /not UTF-8/),
  UTF16: body(Buffer.from(`[${RECORD}]`, 'utf16le'), /not_json|not UTF-8/),
  'nesting without end': body('['.repeat(100_000), /not_json/),
  'a nested answer': body(nested(100_000), /nested too deeply/),
  // JSON of another shape.
  'an object': body('{"items":[]}', /shape/),
  null: body('null', /shape/),
  'a text': body('"no"', /shape/),
  'a number': body('5', /shape/),
  'a list of numbers at dataKey': body('{"items":[1,2]}', /shape: .*element 0 of the list is a number/, ITEMS),
  'a text at dataKey': body('{"items":"none"}', /shape/, ITEMS),
  'another answer at dataKey': body('[]', 0, ITEMS),
  'null at dataKey': body('{"items":null}', 0, ITEMS),
  'no dataKey': body('{"error":"none"}', 0, ITEMS),
  'a list where $root is asked for': body(`[${RECORD}]`, /shape/, { attributes: [{ name: 'a', dataKey: '$root.x' }] }),
  // Unusual, but nothing to complain about.
  'a byte order mark': body(`\uFEFF[${RECORD}]`, 1),
  'another content type': { answer: sends(`[${RECORD}]`, { 'content-type': 'text/plain; charset=latin1' }), says: 1 },
  NaN: body(`[{"id":NaN,"v":Infinity},{"v":-Infinity}]`, 2),
  'numbers too large': body(`[{"id":1${'0'.repeat(400)},"v":1e400}]`, 1),
  'the same key twice': body('[{"v":1,"v":2}]', 1),
  'keys of objects': body('[{"__proto__":{"v":1},"constructor":5,"toString":null,"hasOwnProperty":1}]', 1),
  'half a surrogate pair': body(String.raw`[{"v":1,"name":"\ud800","\udc00":1}]`, 1),
  scalars: body('[1,"a",null,true,[2]]', 5),
  'a deep record': body(`[{"v":1,"deep":${nested(2_000)}}]`, 1),
  'values of other kinds': body('[{"v":"abc"},{"v":[1]},{"v":{}},{"v":-1},{"v":""},{"v":null}]', 6),
  'a long text': body(`[{"v":1,"name":"${'x'.repeat(300_000)}"}]`, 1),
  brotli: encoded(brotliCompressSync(`[${RECORD}]`), 'br', 1),
  // The body is not what the headers say.
  'gzip that is none': encoded(Buffer.from(`[${RECORD}]`), 'gzip', /not the gzip that it says/),
  'gzip that ends early': encoded(zipped.subarray(0, -6), 'gzip', /not the gzip that it says/),
  'gzip that grows': {
    ...encoded(gzipSync(Buffer.alloc(50_000_000, 0x20)), 'gzip', /larger than 65536 bytes/),
    having: SMALL,
  },
  'an unknown encoding': encoded(zipped, 'snappy', /unknown content-encoding/),
  gzip: encoded(zipped, 'gzip', 1),
  'too large': body(`[${`${RECORD},`.repeat(10_000)}${RECORD}]`, /larger than 65536 bytes/, SMALL),
  'too large without a length': {
    answer: (response) => {
      response.writeHead(200);
      for (let part = 0; part < 10; part += 1) response.write(' '.repeat(20_000));
      response.end('[]');
    },
    says: /larger than 65536 bytes/,
    having: SMALL,
  },
  'a length that is too long': {
    answer: wire(`HTTP/1.1 200 OK\nContent-Length: 500\n\n[${RECORD}]`),
    says: /network/,
  },
  // No success.
  'a redirect': status(302, /answered 302 \(redirects are not followed: https:\/\/login\.example\.com\)/, {
    location: 'https://login.example.com/?next=1',
  }),
  'a redirect to itself': status(307, /answered 307/, { location: '' }),
  'not modified': { answer: sends('', {}, 304), says: /answered 304/ },
  'bad request': status(400, /answered 400: \{"error":"no"\}/),
  unauthorized: status(401, /answered 401/),
  forbidden: status(403, /answered 403/),
  'not found': status(404, /answered 404/),
  teapot: status(418, /answered 418/),
  'too many requests': status(429, /answered 429/, { 'retry-after': '100000' }),
  'too many requests, for no known time': status(429, /answered 429/, { 'retry-after': 'soon' }),
  'server error': status(500, /answered 500/),
  'bad gateway': { answer: sends('<html>\n\n<b>502</b>\u0007', {}, 502), says: /answered 502: <html> <b>502<\/b>/ },
  unavailable: status(503, /answered 503/, { 'retry-after': 'Wed, 21 Oct 2099 07:28:00 GMT' }),
  // No HTTP.
  'no answer': { answer: () => undefined, says: /no answer within 1 s/, having: { 'scrape.timeout': '1s' } },
  'half an answer': {
    answer: (response) => void response.writeHead(200).write('['),
    says: /no answer within 1 s/,
    having: { 'scrape.timeout': '1s' },
  },
  reset: { answer: (response) => response.socket?.resetAndDestroy(), says: /network/ },
  'nothing at all': { answer: (response) => response.socket?.destroy(), says: /network/ },
  'another protocol': { answer: wire('SSH-2.0-OpenSSH_9.6\n'), says: /network/ },
  'no status': { answer: wire('HTTP/1.1 OK\n\n[]'), says: /network/ },
  'a status that is none': { answer: wire('HTTP/1.1 99999 OK\n\n[]'), says: /network/ },
  'headers without end': { answer: wire(`HTTP/1.1 200 OK\nX: ${'x'.repeat(200_000)}\n\n[]`), says: /network/ },
  'two lengths': { answer: wire('HTTP/1.1 200 OK\nContent-Length: 2\nContent-Length: 3\n\n[]'), says: /network/ },
  'broken chunks': { answer: wire('HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\nzz\n[]\n'), says: /network/ },
};

/** Answers of a token endpoint; the API itself would answer. */
export const WRONG_TOKENS: Readonly<Record<string, WrongAnswer>> = {
  'token: html': {
    answer: sends('<html>login</html>', { 'content-type': 'text/html' }),
    says: /auth: token: .*not JSON/,
  },
  'token: empty': body('', /auth: token: .*not JSON/),
  'token: none': body('{"expires_in":5}', /auth: token: .*without a token at the\.key or access_token/),
  'token: a list': body('[]', /auth: token: .*without a token/),
  'token: an object': body('{"access_token":{"a":1}}', /auth: token: .*without a token/),
  'token: two lines': body(String.raw`{"access_token":"a\r\nX-Admin: 1"}`, /auth: token: .*cannot stand in a header/),
  'token: denied': status(401, /auth: token: .*answered 401$/),
  'token: moved': status(302, /auth: token: .*answered 302$/, { location: 'https://login.example.com' }),
  'token: later': status(429, /auth: token: .*answered 429$/, { 'retry-after': '3600' }),
  'token: too large': body(`{"access_token":"${'x'.repeat(2_000_000)}"}`, /too_large: .*larger than 1048576 bytes/),
  'token: reset': { answer: (response) => response.socket?.resetAndDestroy(), says: /network/ },
  'token: strange times': body('{"access_token":"t","expires_in":-5}', 1),
  'token: a number': body('{"the":{"key":12345},"expires_in":"soon"}', 1),
};
