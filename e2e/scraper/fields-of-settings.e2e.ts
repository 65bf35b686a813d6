import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ScraperConfig } from '../../crds/config/scraper-file/scraper.ts';
import { allFields } from '../../crds/config/testing/all-fields.ts';
import { inputSchema } from '../../crds/generate/json-schema.ts';
import { GrpcReceiver } from '../../lib/otlp/testing/grpc-receiver.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { OwnRun } from './fields/own-run.ts';

/** Runs of the program: one with next to nothing set, and others, each with many settings that do not disturb another. */
interface Runs {
  readonly usual: OwnRun;
  readonly own: OwnRun;
  /** Few requests at a time. */
  readonly narrow: OwnRun;
  readonly dry: OwnRun;
  /** With TLS enforced, gRPC and Redis. */
  readonly strict: OwnRun;
}
interface Outside {
  readonly grpc: GrpcReceiver;
  readonly redisKeys: () => Promise<readonly string[]>;
}

/** Which run shows a setting, how, and the run that shows that it is the setting which does it (`usual`). */
interface SettingCase {
  readonly run: keyof Runs;
  readonly otherwise?: keyof Runs;
  readonly shows: (run: OwnRun, outside: Outside) => boolean | Promise<boolean>;
}

const ADMIN = { OWN_TOKEN: 'token-of-its-own', OTHER_TOKEN: 'another-token' };
const STOP_SOON_MS = 900;

const CASES: Readonly<Record<string, SettingCase>> = {
  // Each run has a collector of its own.
  'scraper.otelCollectorEndpoint': {
    run: 'usual',
    otherwise: 'strict',
    shows: ({ exports }) => exports.some(({ points }) => points.length > 0),
  },
  'scraper.otelTransport': {
    run: 'strict',
    shows: (run, { grpc }) => grpc.requests.length > 0 && run.exports.length === 0,
  },
  'scraper.otelHeaders': { run: 'own', shows: ({ exports }) => exports[0]?.headers['x-team'] === 'mine' },
  'scraper.otelCompression': {
    run: 'own',
    shows: ({ exports }) => exports[0]?.headers['content-encoding'] === 'gzip',
  },
  'scraper.serviceName': {
    run: 'own',
    shows: ({ exports }) => exports[0]?.resource['service.name'] === 'a name of its own',
  },
  'scraper.enableSelfTelemetry': {
    run: 'own',
    shows: ({ exports }) => exports.some(({ points }) => points.some(({ name }) => name === 'scraper_runs_total')),
  },
  'scraper.allowOverlapScans': { run: 'dry', shows: ({ atOnce }) => (atOnce.get('/long') ?? 0) > 1 },
  'scraper.logLevel': {
    run: 'own',
    shows: ({ output }) =>
      output.split('\n').every((line) => !/"level":"(debug|info|warning)"/.test(line) || /listening/.test(line)),
  },
  'scraper.enforceTls': {
    run: 'strict',
    shows: async (run) => run.asked('/slow') === 0 && /plain http is refused/.test(await run.lastError('slow')),
  },
  'scraper.dryRun': {
    run: 'dry',
    shows: (run) => run.asked('/once') > 0 && run.exports.length === 0 && run.fingerprints('once') === 0,
  },
  'scraper.terminateGracefully': { run: 'narrow', shows: ({ stopMs = Infinity }) => stopMs < STOP_SOON_MS },
  'scraper.shutdownGrace': { run: 'own', shows: ({ stopMs = Infinity }) => stopMs < STOP_SOON_MS },
  'scraper.servicePort': {
    run: 'own',
    // There the command line has another one.
    otherwise: 'strict',
    shows: ({ url, port }) => new URL(url).port === `${port}`,
  },
  'scraper.enableAdminApi': {
    run: 'own',
    shows: async (run) => (await run.status('/sources', ADMIN.OWN_TOKEN)) === 200,
  },
  'scraper.adminSecretEnv': {
    run: 'own',
    otherwise: 'dry',
    shows: async (run) =>
      (await run.status('/sources', ADMIN.OWN_TOKEN)) === 200 &&
      (await run.status('/sources', ADMIN.OTHER_TOKEN)) === 401,
  },
  'scraper.defaultTimeFormat': {
    run: 'own',
    shows: ({ requests }) => requests.some(({ target }) => /^\/slow\?from=\d{10}&to=\d{10}$/.test(target)),
  },
  'scraper.maxGlobalConcurrency': {
    run: 'narrow',
    shows: (run) => run.asked('/slow') >= 5 && run.atOnce.get('all') === 1,
  },
  'scraper.defaultSourceConcurrency': {
    run: 'own',
    shows: (run) => run.asked('/slow') >= 5 && run.atOnce.get('/slow') === 1,
  },
  'scraper.fingerprintStore.backend': {
    run: 'strict',
    shows: async (run, { redisKeys }) => !run.hasState() && (await redisKeys()).includes('own:ledger:slow'),
  },
  'scraper.fingerprintStore.maxEntriesPerSource': { run: 'own', shows: (run) => run.total('same') > 2 },
  'scraper.fingerprintStore.defaultTtlSeconds': { run: 'narrow', shows: (run) => run.total('same') > 2 },
  'scraper.fingerprintStore.cleanupIntervalSeconds': {
    run: 'narrow',
    shows: (run) => run.total('once') === 2 && run.fingerprints('once') === 0,
  },
  'scraper.fingerprintStore.sqlite.path': { run: 'own', shows: (run) => run.hasState(run.ownFile) },
};

/** They show when the program ends. */
const AT_THE_END: ReadonlySet<string> = new Set(['scraper.terminateGracefully', 'scraper.shutdownGrace']);

/** What the settings of a connection do is shown in other tests, where it is alone: file, and title of a test. */
const ELSEWHERE: readonly [fields: RegExp, file: string, titles: readonly string[]][] = [
  [
    /^scraper\.otelTls\./,
    'scraper/output/otlp-tls.contract.ts',
    ['verify: an', 'ca and caFile:', 'serverName:', 'cert and key, certFile and keyFile:'],
  ],
  [
    /^scraper\.fingerprintStore\.(valkey|redis)\./,
    'scraper/state/redis-settings.contract.ts',
    [
      "describe.each(['valkey', 'redis'])",
      "['host'",
      "['port'",
      "['username'",
      "['password'",
      "['keyPrefix'",
      'db and',
      'ssl:',
    ],
  ],
  [
    /^scraper\.fingerprintStore\.lock/,
    'scraper/state/sqlite-lock-settings.test.ts',
    ['lockRetries:', 'lockBackoffSeconds:'],
  ],
];

const started = new AsyncDisposableStack();
const results = new Map<string, readonly [value: boolean, otherwise: boolean]>();

beforeAll(async () => {
  const grpc = started.use(new GrpcReceiver());
  const redis = started.use(await startRedis());
  const runs = await startRuns(await grpc.listen(), redis);
  const outside = { grpc, redisKeys: () => keysOf(redis) };
  const look = async (): Promise<void> => {
    for (const [path, { run, otherwise = 'usual', shows }] of Object.entries(CASES)) {
      results.set(path, [await shows(runs[run], outside), await shows(runs[otherwise], outside)]);
    }
  };
  const isDone = (path: string): boolean => {
    const [value, otherwise] = results.get(path) ?? [];
    return AT_THE_END.has(path) || (value === true && otherwise === false);
  };
  const limit = AbortSignal.timeout(20_000);
  do {
    await delay(200);
    await look();
  } while (!limit.aborted && !Object.keys(CASES).every(isDone));
  const before = new Map(results);
  await Promise.all([runs.usual, runs.own, runs.narrow].map((run) => run.stopInTheMiddle()));
  for (const path of AT_THE_END) {
    const { run, otherwise = 'usual', shows } = CASES[path] ?? expect.fail(path);
    before.set(path, [await shows(runs[run], outside), await shows(runs[otherwise], outside)]);
  }
  for (const [path, result] of before) results.set(path, result);
});
afterAll(() => started.disposeAsync());

async function startRuns(grpcEndpoint: string, redis: RedisServer): Promise<Runs> {
  const usual = OwnRun.start({});
  const own = OwnRun.start(
    {
      otelHeaders: { 'X-Team': 'mine' },
      otelCompression: 'gzip',
      serviceName: 'a name of its own',
      enableSelfTelemetry: true,
      logLevel: 'error',
      defaultTimeFormat: '%s',
      defaultSourceConcurrency: 1,
      shutdownGrace: '0s',
      enableAdminApi: true,
      adminSecretEnv: 'OWN_TOKEN',
    },
    { env: ADMIN, store: ({ ownFile }) => ({ maxEntriesPerSource: 1, sqlite: { path: ownFile } }) },
  );
  const narrow = OwnRun.start(
    { maxGlobalConcurrency: 1, terminateGracefully: false },
    {
      store: ({ stateFile }) => ({
        defaultTtlSeconds: 1,
        cleanupIntervalSeconds: 1,
        sqlite: { path: stateFile },
      }),
    },
  );
  const dry = OwnRun.start(
    { dryRun: true, allowOverlapScans: true, enableAdminApi: true, adminSecretEnv: 'OTHER_TOKEN' },
    { env: ADMIN },
  );
  const strict = OwnRun.start(
    { enforceTls: true, otelTransport: 'grpc', otelCollectorEndpoint: grpcEndpoint, enableSelfTelemetry: true },
    {
      args: ['--port', '0'],
      store: () => ({ backend: 'redis', valkey: { host: redis.host, port: redis.port, keyPrefix: 'own:' } }),
    },
  );
  const [first, second, third, fourth, fifth] = await Promise.all([usual, own, narrow, dry, strict]);
  for (const run of [first, second, third, fourth, fifth]) started.use(run);
  return { usual: first, own: second, narrow: third, dry: fourth, strict: fifth };
}

async function keysOf({ url }: RedisServer): Promise<readonly string[]> {
  const client = new Redis(url);
  try {
    return await client.keys('*');
  } finally {
    client.disconnect();
  }
}

test.each(Object.keys(CASES))('%s', (path) => {
  const [value, otherwise] = results.get(path) ?? [];
  expect(value, 'it does not show').toBe(true);
  expect(otherwise, 'it shows without it').toBe(false);
});

test('every setting has a test', async () => {
  const all = allFields(inputSchema(ScraperConfig)).filter((path) => path.startsWith('scraper.'));
  const elsewhere = all.filter((path) => ELSEWHERE.some(([fields]) => fields.test(path)));
  expect([...Object.keys(CASES), ...elsewhere].toSorted()).toEqual(all.toSorted());
  for (const [, file, titles] of ELSEWHERE) {
    const text = await readFile(join(import.meta.dirname, '../..', file), 'utf8');
    for (const title of titles) expect([file, text]).toEqual([file, expect.stringContaining(title)]);
  }
});
