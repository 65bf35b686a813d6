import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { SourceHealth } from '../../../scraper/http/health.ts';
import { OtlpReceiver, type ReceivedPoint } from '../../../lib/otlp/testing/otlp-receiver.ts';
import { Authority } from '../../../scraper/requests/testing/certificates.ts';
import { type SeenRequest, TestServer } from '../../../scraper/requests/testing/test-server.ts';
import { put, toYaml } from '../../../crds/config/testing/adapter-config.ts';
import { type RunningScraper, startScraper } from '../../support/scraper-process.ts';
import {
  type ClientFiles,
  type FieldCase,
  type FieldCases,
  inSource,
  RECORDS,
  type Reply,
  type Seen,
  slugOf,
  type World,
} from './field-case.ts';
import { WITH_A_PAST } from './requests.ts';

const WEEK_MS = 7 * 86_400_000;

interface Api {
  readonly requests: SeenRequest[];
  open: number;
  atOnce: number;
}

/** One scraper with two sources for every field, their APIs, and what it exports to. */
export class Crowd implements AsyncDisposable {
  readonly cases: FieldCases;
  readonly #stack: AsyncDisposableStack;
  readonly #receiver: OtlpReceiver;
  readonly #apis: ReadonlyMap<string, Api>;
  readonly #scraper: RunningScraper;
  #health: readonly SourceHealth[] = [];

  private constructor(
    cases: FieldCases,
    parts: {
      readonly stack: AsyncDisposableStack;
      readonly receiver: OtlpReceiver;
      readonly apis: ReadonlyMap<string, Api>;
      readonly scraper: RunningScraper;
    },
  ) {
    this.cases = cases;
    this.#stack = parts.stack;
    this.#receiver = parts.receiver;
    this.#apis = parts.apis;
    this.#scraper = parts.scraper;
  }

  static async start(casesIn: (world: World) => FieldCases): Promise<Crowd> {
    await using stack = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'scraper-fields-'));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const receiver = stack.use(new OtlpReceiver());
    const collector = await receiver.listen();

    const apis = new Map<string, Api>();
    const answers = new Map<string, FieldCase['answer']>();
    const serve = async (tls?: Parameters<typeof TestServer.start>[1]): Promise<string> => {
      const server = await TestServer.start((request, response) => respond(request, response), tls);
      stack.defer(() => server.close());
      return server.url;
    };
    const respond: TestServer['answer'] = async (request, response) => {
      const slug = /^\/([^/?]*)/.exec(request.target)?.[1] ?? '';
      const api = apis.get(slug) ?? { requests: [], open: 0, atOnce: 0 };
      apis.set(slug, api);
      api.requests.push(request);
      api.open += 1;
      api.atOnce = Math.max(api.atOnce, api.open);
      const reply: Reply = answers.get(slug)?.(request, api.requests.length) ?? { body: RECORDS };
      if (reply.delayMs !== undefined) await delay(reply.delayMs);
      if (reply.begun !== undefined) {
        response.writeHead(200).write(reply.begun);
        return;
      }
      const body = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body);
      response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers }).end(body);
      api.open -= 1;
    };

    const world = await createWorld(folder, serve, stack);
    const cases = casesIn(world);
    const sources: object[] = [];
    for (const [path, field] of Object.entries(cases)) {
      for (const isSecond of [false, true]) {
        const slug = slugOf(path, isSecond);
        answers.set(slug, field.answer);
        sources.push(sourceOf(path, field, isSecond, field.ownHost === true ? await serve() : world.api));
      }
    }
    const file = join(folder, 'config.yaml');
    const state = join(folder, 'state.db');
    leavePast(state);
    const scraper = {
      otelCollectorEndpoint: collector,
      otelTransport: 'http',
      enforceTls: false,
      logLevel: 'warning',
      maxGlobalConcurrency: 1000,
      shutdownGrace: '0s',
      fingerprintStore: { sqlite: { path: state } },
    };
    await writeFile(file, toYaml({ scraper, sources }));
    const running = stack.use(await startScraper(file));
    return new Crowd(cases, { stack: stack.move(), receiver, apis, scraper: running });
  }

  /** Waits until every field shows in the first source of its case, and not in the second; then a little longer. */
  async settle(timeoutMs: number): Promise<void> {
    const end = performance.now() + timeoutMs;
    while (performance.now() < end) {
      await this.#look();
      if (Object.keys(this.cases).every((path) => this.#shows(path, false) && !this.#shows(path, true))) break;
      await delay(200);
    }
    await delay(500);
    await this.#look();
  }

  #shows(path: string, isSecond: boolean): boolean {
    return this.cases[path]?.shows(this.seen(path, isSecond)) === true;
  }

  seen(path: string, isSecond: boolean): Seen {
    const slug = slugOf(path, isSecond);
    const name = nameOf(path, this.cases[path], isSecond);
    const { requests = [], atOnce = 0 } = this.#apis.get(slug) ?? {};
    const points = this.#receiver.accepted.flatMap((request) => request.points.filter(isOf(name)));
    return {
      name,
      requests,
      atOnce,
      points,
      logs: this.#receiver.accepted.flatMap(({ logs }) => logs.filter(isOf(name))),
      lastError: this.#health.find((source) => source.name === name)?.last_error ?? null,
      total(metric) {
        const last = new Map(points.filter((point) => point.name === metric).map((point) => [keyOf(point), point]));
        return [...last.values()].reduce((sum, { value }) => sum + Number(value), 0);
      },
    };
  }

  /** For the message of a test that fails. */
  describe(path: string, isSecond: boolean): string {
    const { name, requests, atOnce, points, logs, lastError } = this.seen(path, isSecond);
    const shown = {
      requests: requests.slice(0, 12).map(({ method, target, body }) => `${method} ${target} ${body}`),
      count: requests.length,
      atOnce,
      points: points.slice(-6),
      logs: logs.slice(0, 3),
      lastError,
      log: this.#scraper
        .stdout()
        .split('\n')
        .filter((line) => line.includes(name))
        .slice(0, 5),
    };
    return `${name}: ${JSON.stringify(shown, undefined, 2)}`;
  }

  async #look(): Promise<void> {
    const response = await fetch(`${this.#scraper.url}/healthz`, { signal: AbortSignal.timeout(5000) });
    this.#health = ((await response.json()) as { sources: SourceHealth[] }).sources;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

const isOf =
  (name: string) =>
  ({ attributes }: { readonly attributes: Record<string, unknown> }): boolean =>
    attributes['source'] === name;
const keyOf = ({ attributes }: ReceivedPoint): string => JSON.stringify(attributes);

function nameOf(path: string, field: FieldCase | undefined, isSecond: boolean): string {
  return path === 'sources[].name' ? String(isSecond ? field?.instead : field?.value) : slugOf(path, isSecond);
}

function sourceOf(path: string, field: FieldCase, isSecond: boolean, baseUrl: string): object {
  const slug = slugOf(path, isSecond);
  const source = {
    name: slug,
    frequency: '1h',
    baseUrl,
    endpoint: `/${slug}`,
    runFirstScrape: true,
    scrape: { type: 'instant' },
    gaugeReadings: [{ name: 'g', dataKey: 'v' }],
  };
  for (const [at, value] of Object.entries(field.having ?? {})) put(source, at, structuredClone(value));
  const at = inSource(path);
  put(source, at, isSecond ? field.instead : field.value);
  if (isSecond) for (const [other, value] of Object.entries(field.without ?? {})) put(source, other, value);
  return source;
}

/** The state of the original, in which two of the sources were last scraped a week ago. */
function leavePast(path: string): void {
  const database = new DatabaseSync(path);
  database.exec('CREATE TABLE last_success (source TEXT PRIMARY KEY, timestamp TEXT)');
  const insert = database.prepare('INSERT INTO last_success VALUES (?, ?)');
  const time = new Date(Date.now() - WEEK_MS).toISOString().replace('Z', '000+00:00');
  for (const isSecond of [false, true]) insert.run(slugOf(WITH_A_PAST, isSecond), time);
  database.close();
}

async function createWorld(
  folder: string,
  serve: (tls?: Parameters<typeof TestServer.start>[1]) => Promise<string>,
  stack: AsyncDisposableStack,
): Promise<World> {
  const authority = await Authority.create();
  stack.defer(() => authority.remove());
  const other = await Authority.create();
  stack.defer(() => other.remove());
  const own = await authority.issue('IP:127.0.0.1');
  const clientOf = async (issuer: Authority, name: string): Promise<ClientFiles> => {
    const { cert, key } = await issuer.issue(`DNS:${name}`);
    const [certFile, keyFile] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
    await writeFile(certFile, cert);
    await writeFile(keyFile, key);
    return { cert, key, certFile, keyFile };
  };
  return {
    api: await serve(),
    tlsApi: await serve(own),
    namedTlsApi: await serve(await authority.issue('DNS:api.internal')),
    clientsTlsApi: await serve({ ...own, ca: authority.cert, requestCert: true, rejectUnauthorized: true }),
    ca: authority.cert,
    caFile: join(authority.folder, 'ca.pem'),
    client: await clientOf(authority, 'client'),
    stranger: await clientOf(other, 'stranger'),
  };
}
