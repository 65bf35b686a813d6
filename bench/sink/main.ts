/**
 * Both ends of a scraper in one program: the JSON API that it reads, and the OTLP/HTTP collector that it sends to. An adapter
 * has the collector only.
 *
 *   GET  /page?n=N              N records at once; &wait=MS before the answer
 *   GET  /window?n=N&start=&end=   N records for each full hour of it, and the windows asked for are counted
 *   GET  /fleet/NAME            a small answer, and when it was asked for is kept
 *   POST /v1/metrics /v1/logs /v1/traces   what is exported, as protobuf or JSON, plain or gzip
 *   GET  /report /count /calls  see report.ts
 *   POST /hold?after=N          from the Nth request on answers wait; POST /release lets them go
 *   POST /reset                 forgets everything
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { type ExportKind, readExport, type MetricSum } from './otlp.ts';
import { page } from './records.ts';
import type { SinkCalls, SinkCount, SinkReport } from './report.ts';

interface KeptExport {
  readonly kind: ExportKind;
  readonly body: Buffer;
  readonly isJson: boolean;
  readonly isGzip: boolean;
}

const now = (): number => performance.timeOrigin + performance.now();

class Sink {
  #requests = 0;
  #answered = 0;
  #atOnce = 0;
  #mostAtOnce = 0;
  #records = 0;
  #firstRequest: number | undefined;
  #lastAnswer: number | undefined;
  readonly #windows = new Set<string>();
  readonly #calls: Record<string, number[]> = {};
  #exports = 0;
  #exportBytes = 0;
  #lastExport: number | undefined;
  /** Read later, so that counting takes no time from what is measured. */
  #unread: KeptExport[] = [];
  #logs = 0;
  #spans = 0;
  readonly #metrics = new Map<string, MetricSum>();
  #holdAfter = Infinity;
  #held: (() => void)[] = [];

  answer(url: URL, response: ServerResponse): void {
    const at = now();
    this.#firstRequest ??= at;
    this.#requests++;
    this.#mostAtOnce = Math.max(this.#mostAtOnce, ++this.#atOnce);
    const fleet = url.pathname.startsWith('/fleet/') ? url.pathname.slice('/fleet/'.length) : undefined;
    if (fleet !== undefined) (this.#calls[fleet] ??= []).push(at);
    const [start, end] = [url.searchParams.get('start') ?? '', url.searchParams.get('end') ?? ''];
    let count = fleet === undefined ? Number(url.searchParams.get('n')) : 2;
    if (url.pathname === '/window') {
      this.#windows.add(`${start} ${end}`);
      // The last window is shorter, and empty, so that it is known how many records there are.
      count *= Math.floor((Date.parse(end) - Date.parse(start)) / 3_600_000);
    }
    const send = (): void => {
      const body = page(count);
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
      this.#atOnce--;
      this.#answered++;
      this.#records += count;
      this.#lastAnswer = now();
    };
    const wait = Number(url.searchParams.get('wait') ?? 0);
    if (this.#requests > this.#holdAfter) this.#held.push(send);
    else if (wait > 0) setTimeout(send, wait);
    else send();
  }

  take(one: KeptExport): void {
    this.#unread.push(one);
    this.#exports++;
    this.#exportBytes += one.body.length;
    this.#lastExport = now();
  }

  hold(after: number): void {
    this.#holdAfter = after;
  }

  release(): void {
    this.#holdAfter = Infinity;
    for (const send of this.#held.splice(0)) send();
  }

  report(): SinkReport {
    return {
      now: now(),
      requests: this.#requests,
      answered: this.#answered,
      mostAtOnce: this.#mostAtOnce,
      windows: this.#windows.size,
      records: this.#records,
      firstRequest: this.#firstRequest,
      lastAnswer: this.#lastAnswer,
      exports: this.#exports,
      exportBytes: this.#exportBytes,
      lastExport: this.#lastExport,
    };
  }

  count(): SinkCount {
    for (const { kind, body, isJson, isGzip } of this.#unread.splice(0)) {
      const { logs, spans, metrics } = readExport(kind, isGzip ? gunzipSync(body) : body, isJson);
      this.#logs += logs;
      this.#spans += spans;
      for (const [name, sum] of metrics) this.#metrics.set(name, sum);
    }
    return { logs: this.#logs, spans: this.#spans, metrics: Object.fromEntries(this.#metrics) };
  }

  calls(): SinkCalls {
    return this.#calls;
  }
}

const SIGNALS = { '/v1/metrics': 'metrics', '/v1/logs': 'logs', '/v1/traces': 'traces' } as const;

let sink = new Sink();

function keep(request: IncomingMessage, response: ServerResponse, kind: KeptExport['kind']): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const isJson = request.headers['content-type']?.includes('json') ?? false;
    const isGzip = request.headers['content-encoding'] === 'gzip';
    sink.take({ kind, body: Buffer.concat(chunks), isJson, isGzip });
    response.writeHead(200, { 'content-type': isJson ? 'application/json' : 'application/x-protobuf' });
    response.end(isJson ? '{}' : undefined);
  });
}

function control(url: URL): unknown {
  switch (url.pathname) {
    case '/report':
      return sink.report();
    case '/count':
      return sink.count();
    case '/calls':
      return sink.calls();
    case '/hold':
      return sink.hold(Number(url.searchParams.get('after')));
    case '/release':
      return sink.release();
    case '/reset':
      sink = new Sink();
      return undefined;
    default:
      throw new Error(`no ${url.pathname}`);
  }
}

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://sink');
  const { pathname } = url;
  if (pathname === '/page' || pathname === '/window' || pathname.startsWith('/fleet/')) {
    sink.answer(url, response);
  } else if (pathname in SIGNALS) {
    keep(request, response, SIGNALS[pathname as keyof typeof SIGNALS]);
  } else {
    try {
      response.end(JSON.stringify(control(url) ?? null));
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  }
});
// Connections of a scraper rest between its scrapes; a closed one would fail a request now and then.
server.keepAliveTimeout = 600_000;
server.listen(Number(process.env['PORT']), '127.0.0.1');
