import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningAdapter } from '../support/adapter-process.ts';
import { type RawUpstream, startRawUpstream } from '../support/raw-upstream.ts';
import { asObject, type JsonObject } from '../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { secret } from '../support/secrets/secret.ts';
import { CODE_MODE, execute, failuresOf, parsed } from './code-mode/kit/code.ts';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { drain, openSession, type Session, textOf } from './kit/session.ts';
import { callModern, SESSIONLESS_META, startModernUpstream } from './telemetry/kit/modern-upstream.ts';

/** How long the calls of a dead replica count. */
const LEASE_MS = 30_000;
const [ALICE, BOB] = [secret('token of alice'), secret('token of bob')];
const as = (token: string) => ({ 'x-mcp-adapter-auth-token': token });
const call = (name: string, args: JsonObject = {}) => ({ name, arguments: args });

/** A hundred a minute: one in 600 ms. */
const HUNDRED = { limits: [{ per: 'caller', rate: '100/min' }] };
const INTERVAL_MS = 600;

/** What is known of an answer that limits have a say in. */
async function answered(response: Promise<Response>): Promise<{ status: number; code: unknown; retryAfter: number }> {
  const one = await response;
  const text = await one.text();
  const retryAfter = Number(one.headers.get('retry-after'));
  if (one.status === 200) return { status: 200, code: undefined, retryAfter };
  const error = asObject(asObject(JSON.parse(text)).error);
  expect(error.code).toBe(429);
  return { status: one.status, code: asObject(error.data).code, retryAfter };
}

describe('limits of calls over three replicas', { timeout: 60_000 }, () => {
  const started = new AsyncDisposableStack();
  let upstream: ScriptedUpstream;
  let modern: RawUpstream;
  let deployment: Deployment;
  let places: readonly RunningAdapter[];

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    started.defer(() => upstream.close());
    modern = started.use(await startModernUpstream());
    const servers = [
      mounted('sessions', upstream.url, HUNDRED),
      mounted('alone', modern.url, HUNDRED),
      mounted('plain', upstream.url, { limits: [] }),
      mounted('counted', upstream.url),
      mounted('running', upstream.url, { limits: [{ per: 'server', concurrent: 3 }] }),
      mounted('coded', upstream.url, {
        ...CODE_MODE,
        limits: [
          { per: 'tool', rate: '3/h' },
          { per: 'caller', concurrent: 1 },
        ],
      }),
    ];
    const tokens = [
      { name: 'alice', token: ALICE },
      { name: 'bob', token: BOB },
    ];
    const core = { auth: { enabled: true, tokens }, limits: [{ per: 'caller', rate: '10000/min' }] };
    deployment = started.use(await startDeployment({ config: { core, servers } }));
    places = [deployment.a, deployment.b, started.use(await deployment.startAnother({}))];
  });
  afterAll(() => started.disposeAsync());

  const place = (n: number): RunningAdapter => places[n % places.length] as RunningAdapter;
  const open = (n: number, server: string, token = ALICE): Promise<Session> =>
    openSession(place(n), { path: `/mcp/${server}`, headers: as(token) });

  /** Sends 160 calls at once, and says how many were let in and how many more there may have been in the time that they took. */
  async function sent(calls: (n: number) => Promise<Response>) {
    const from = performance.now();
    const answers = await Promise.all(Array.from({ length: 160 }, (_, n) => answered(calls(n))));
    const late = Math.ceil((performance.now() - from) / INTERVAL_MS);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(new Set(refused.map(({ status, code }) => `${status} ${String(code)}`))).toEqual(
      new Set(['429 rate_limited']),
    );
    return { admitted: answers.length - refused.length, late, refused };
  }

  test('T26: a hundred a minute are a hundred, though each call has a session of its own at another replica', async () => {
    const sessions = await Promise.all(Array.from({ length: 160 }, (_, n) => open(n, 'sessions')));
    const { admitted, late, refused } = await sent((n) =>
      (sessions[n] as Session).at(place(n)).request('tools/call', call('echo', { n })),
    );
    expect(admitted).toBeGreaterThanOrEqual(100);
    expect(admitted).toBeLessThanOrEqual(100 + late);

    // What is no call is not limited, and nobody else is.
    const fresh = (await open(1, 'sessions')).at(place(2));
    expect(await fresh.call('tools/list')).toMatchObject({ result: { tools: expect.anything() } });
    const other = (await open(0, 'sessions', BOB)).at(place(1));
    expect(textOf(await other.tool('echo', { b: 1 }))).toBe('{"b":1}');

    // Who waits as long as it says is let in.
    await delay((refused[0]?.retryAfter ?? 0) * 1000);
    expect(await drain(fresh.request('tools/call', call('echo')))).toBe(200);
  });

  test('T26: a hundred a minute are a hundred without sessions', async () => {
    const params = JSON.stringify({ ...call('echo', { text: 'x' }), _meta: SESSIONLESS_META });
    const one = (n: number, token = ALICE): Promise<Response> =>
      callModern(
        place(n),
        '/mcp/alone',
        `{"jsonrpc":"2.0","id":${n},"method":"tools/call","params":${params}}`,
        as(token),
      );
    // The replicas learn which revision the server speaks.
    expect(await Promise.all([0, 1, 2].map((n) => drain(one(n, BOB))))).toEqual([200, 200, 200]);
    const { admitted, late } = await sent(one);
    expect(admitted).toBeGreaterThanOrEqual(100);
    expect(admitted).toBeLessThanOrEqual(100 + late);
  });

  test('limits of rates cost no command of Redis more', async () => {
    const redis = new Redis(deployment.redis.url);
    const monitor = await redis.monitor();
    try {
      /** What was asked for 20 calls; what scripts do is not asked. */
      const commands = async (server: string): Promise<string[]> => {
        const session = await open(0, server);
        const asked: string[] = [];
        const listen = (_time: string, args: string[], source: string): void => {
          if (source !== 'lua' && args.join(' ').includes(server)) asked.push(String(args[0]).toLowerCase());
        };
        // Once, so that everything is known that is asked for once.
        await session.at(place(0)).tool('echo');
        monitor.on('monitor', listen);
        let fewest: string[] | undefined;
        // What a replica asks at times by itself only comes on top.
        for (let round = 0; round < 3; round += 1) {
          asked.length = 0;
          for (let n = 0; n < 20; n += 1) await session.at(place(0)).tool('echo', { n });
          await redis.echo('everything has been told');
          if (fewest === undefined || asked.length < fewest.length) fewest = [...asked];
        }
        monitor.off('monitor', listen);
        return fewest ?? [];
      };
      const [plain, counted] = [await commands('plain'), await commands('counted')];
      expect(plain.length).toBeGreaterThanOrEqual(20);
      expect(counted.length).toBe(plain.length);
      expect(counted.filter((name) => name === 'evalsha').length).toBeGreaterThanOrEqual(20);
    } finally {
      monitor.disconnect();
      redis.disconnect();
    }
  });

  test('T26: of all callers only three calls run at a server, and the place of one that has ended is free', async () => {
    const sessions = await Promise.all([0, 1, 2, 3].map((n) => open(n, 'running', n % 2 === 0 ? ALICE : BOB)));
    const [one, two, three, four] = sessions as [Session, Session, Session, Session];
    const slow = (session: Session, n: number): Promise<JsonObject> =>
      session.at(place(n)).tool('slow', { key: `running ${n}` });
    const running = [slow(one, 0), slow(two, 1), slow(three, 2)];
    for (const n of [0, 1, 2]) await upstream.waitForRequest(({ text }) => text.includes(`running ${n}`));
    const next = (n: number) => answered(four.at(place(n)).request('tools/call', call('echo')));
    for (const n of [0, 1, 2]) {
      expect(await next(n)).toEqual({ status: 429, code: 'concurrency_limited', retryAfter: 1 });
    }
    upstream.release('running 1');
    expect(textOf((await running[1]) as JsonObject)).toBe('done');
    for (let n = 0; n < 30; n += 1) expect(await next(n)).toMatchObject({ status: 200 });
    for (const n of [0, 2]) upstream.release(`running ${n}`);
    expect((await Promise.all(running)).map(textOf)).toEqual(['done', 'done', 'done']);
  });

  test('T26: calls that code makes count, and the code itself has no place', async () => {
    const door = (await open(0, 'coded')).at(place(1));
    const said = await execute(door, failuresOf(['echo', {}], ['echo', {}], ['echo', {}], ['echo', {}]), 'coded');
    const tooMany = expect.stringContaining('There were too many calls of this tool');
    expect(parsed(said)).toEqual([null, null, null, tooMany]);
    // Another tool has its own, and of calls at the same time only one is let in.
    const both = `const calls = [1, 2].map(() => call_tool('slow', { ms: 500 }).then(() => 'done', ({ message }) => message));
      return (await Promise.all(calls)).sort();`;
    const one = expect.stringContaining('The limit of concurrent calls of this caller is reached: 1.');
    expect(parsed(await execute(door, both, 'coded'))).toEqual([one, 'done']);
    expect(await answered(door.request('tools/call', call('coded_execute', { code: 'return 1' })))).toMatchObject({
      status: 200,
    });
    expect(await answered(door.request('tools/call', call('coded_execute', { code: 'return 1' })))).toMatchObject({
      code: 'rate_limited',
    });
  });
});

/** Slow by nature: about 35 s, of which nearly all is waiting for the leases to end. */
describe('the calls of a replica that was killed', { timeout: 90_000 }, () => {
  const started = new AsyncDisposableStack();
  let upstream: ScriptedUpstream;
  let modern: RawUpstream;
  let deployment: Deployment;
  const waiting: (() => void)[] = [];

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    started.defer(() => upstream.close());
    // A server of the revision without sessions, whose calls end when the test says so.
    modern = started.use(
      await startRawUpstream(({ json }, res) => {
        const { id, method } = asObject(json);
        const answer = (result: JsonObject): void => {
          res.writeHead(200, { 'content-type': 'application/json' });
          res.end(JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } }));
        };
        if (method === 'tools/call') waiting.push(() => answer({ content: [] }));
        else if (method === 'tools/list') answer({ tools: [{ name: 'wait', inputSchema: { type: 'object' } }] });
        else {
          const serverInfo = { name: 'waits', version: '1' };
          answer({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, serverInfo });
        }
      }),
    );
    const two = { limits: [{ per: 'caller', concurrent: 2 }] };
    const servers = [mounted('up', upstream.url, two), mounted('modern', `${modern.url}/mcp`, two)];
    deployment = started.use(await startDeployment({ config: { servers } }));
  });
  afterAll(() => started.disposeAsync());

  test('hold their places for 30 seconds, and those of a living one for as long as they run', async () => {
    const { a, b } = deployment;
    const params = JSON.stringify({ ...call('wait'), _meta: SESSIONLESS_META });
    const wait = (at: RunningAdapter): Promise<Response> =>
      callModern(at, '/mcp/modern', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);
    const slow = async (at: RunningAdapter, key: string): Promise<Response> =>
      (await openSession(at)).at(at).request('tools/call', call('slow', { key }));

    const long = [slow(b, 'long'), wait(b)];
    const lost = Promise.allSettled([slow(a, 'lost'), wait(a)]);
    for (const key of ['long', 'lost']) await upstream.waitForRequest(({ text }) => text.includes(`"${key}"`));
    await expect.poll(() => waiting.length).toBe(2);
    const killedAt = performance.now();
    a.kill('SIGKILL');
    expect((await lost).map(({ status }) => status)).toEqual(['rejected', 'rejected']);

    const other = await openSession(b);
    const next = () => drain(other.at(b).request('tools/call', call('echo')));
    expect([await next(), (await answered(wait(b))).code]).toEqual([429, 'concurrency_limited']);
    await expect.poll(next, { timeout: LEASE_MS + 15_000, interval: 500 }).toBe(200);
    expect(performance.now() - killedAt).toBeGreaterThan(LEASE_MS - 2_000);

    // The living replica's calls have been running for longer than a lease, and still count.
    const second = [slow(b, 'second'), wait(b)];
    await upstream.waitForRequest(({ text }) => text.includes('"second"'));
    await expect.poll(() => waiting.length).toBe(3);
    expect([await next(), (await answered(wait(b))).code]).toEqual([429, 'concurrency_limited']);
    for (const key of ['long', 'second']) upstream.release(key);
    for (const end of waiting) end();
    expect(await Promise.all([...long, ...second].map(drain))).toEqual([200, 200, 200, 200]);
  });
});
