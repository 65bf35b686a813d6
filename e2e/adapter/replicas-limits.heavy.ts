import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { asObject, type JsonObject } from '../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { eventually } from './kit/eventually.ts';
import { EventReader, isResponse } from './kit/events.ts';
import { drain, initialize, openSession, type Place, type SessionOptions, textOf } from './kit/session.ts';

const tool = (name: string, args: JsonObject = {}) => ({ name, arguments: args });

describe('two tool calls at a time in one session, counted over both replicas', { timeout: 30_000 }, () => {
  let upstream: ScriptedUpstream;
  let deployment: Deployment;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    const config = { sessions: { max_in_flight_per_session: 2 }, servers: [mounted('up', upstream.url)] };
    deployment = await startDeployment({ config });
  });
  beforeEach(() => {
    upstream.behavior.answers = 'json';
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
  });

  test('exactly two of ten calls at once run; each other one gets 429, its own id and a time to wait', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    const before = upstream.requestsOf('tools/call').length;
    const ids = Array.from({ length: 10 }, (_, n) => `90071992547409${90 + n}`);
    const settled: { id: string; status: number; retryAfter: string | null; text: string }[] = [];
    const calls = ids.map(async (id, n) => {
      const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"slow","arguments":{"key":"ten"}}}`;
      const response = await session.at(n % 2 === 0 ? a : b).send(body);
      const text = await response.text();
      settled.push({ id, status: response.status, retryAfter: response.headers.get('retry-after'), text });
      if (settled.length === 8) upstream.release('ten');
    });
    await Promise.all(calls);
    const refused = settled.slice(0, 8);
    expect(refused.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 429));
    for (const { id, retryAfter, text } of refused) {
      expect(Number(retryAfter)).toBeGreaterThan(0);
      expect(text).toContain(`"id":${id},`);
      expect(JSON.parse(text)).toMatchObject({
        jsonrpc: '2.0',
        error: { code: 429, data: { code: 'in_flight_limit' } },
      });
    }
    expect(settled.slice(8).map(({ status }) => status)).toEqual([200, 200]);
    expect(upstream.requestsOf('tools/call').length).toBe(before + 2);
  });

  test('other sessions and other requests are not held up', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    const running = [a, b].map((place) => session.at(place).tool('slow', { key: 'others' }));
    await upstream.waitForRequest(
      () => upstream.requestsOf('tools/call').filter(({ text }) => text.includes('others')).length === 2,
    );
    expect(await drain(session.at(b).request('tools/call', tool('echo')))).toBe(429);
    expect(await session.at(b).call('ping')).toMatchObject({ result: {} });
    expect(await session.at(a).call('tools/list')).toMatchObject({ result: {} });
    const other = await openSession(b);
    expect(textOf(await other.at(a).tool('echo', { other: 1 }))).toBe('{"other":1}');
    upstream.release('others');
    expect((await Promise.all(running)).map(textOf)).toEqual(['done', 'done']);
  });

  test.for(['json', 'sse'] as const)(
    'the place is free for the very next call, at any replica (answers as %s)',
    async (answers) => {
      const { a, b } = deployment;
      upstream.behavior.answers = answers;
      const session = await openSession(a);
      // One place stays taken, so that each of the calls below needs the one that the call before it had.
      const held = session.at(b).tool('slow', { key: `held-${answers}` });
      await upstream.waitForRequest(({ text }) => text.includes(`held-${answers}`));
      for (let n = 0; n < 200; n += 1) {
        const response = await session.at(n % 2 === 0 ? a : b).request('tools/call', tool('echo', { n }));
        if (response.status !== 200) throw new Error(`call ${n}: ${response.status} ${await response.text()}`);
        // On a stream the result is there before the stream has ended, and a client goes on at once.
        if (answers === 'json') await response.text();
        else expect(textOf(await new EventReader(response).message(isResponse))).toBe(`{"n":${n}}`);
      }
      upstream.release(`held-${answers}`);
      expect(textOf(await held)).toBe('done');
    },
  );

  test('the place is free as soon as the result is there, even when the server leaves its stream open', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    upstream.tools.set('lingers', {
      definition: { inputSchema: { type: 'object' } },
      call: async (call) => {
        call.stream().send(JSON.stringify({ jsonrpc: '2.0', id: call.arguments.id, result: { content: [] } }));
        await call.released('lingers');
        return undefined;
      },
    });
    const held = session.at(b).tool('slow', { key: 'lingering' });
    await upstream.waitForRequest(({ text }) => text.includes('lingering'));
    for (let id = 100; id < 110; id += 1) {
      const params = tool('lingers', { id });
      const response = await session
        .at(id % 2 === 0 ? a : b)
        .send({ jsonrpc: '2.0', id, method: 'tools/call', params });
      expect([id, response.status]).toEqual([id, 200]);
      expect(await new EventReader(response).message(isResponse)).toMatchObject({ id });
    }
    for (const key of ['lingers', 'lingering']) upstream.release(key);
    expect(textOf(await held)).toBe('done');
  });

  test('a batch counts each of its calls', async () => {
    const { a, b } = deployment;
    const session = await openSession(a, { protocolVersion: '2025-03-26' });
    const call = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: tool('echo', { id }) });
    const refused = await session.at(b).send([call(1), call(2), call(3)]);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject(
      [1, 2, 3].map((id) => ({ id, error: { data: { code: 'in_flight_limit' } } })),
    );
    const passed = await session.at(a).send([call(4), call(5)]);
    expect(((await passed.json()) as JsonObject[]).map(textOf).sort()).toEqual(['{"id":4}', '{"id":5}']);
  });

  test('a client that goes away gives its place back', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    const gone = new AbortController();
    const calls = [a, b].map((place) => session.at(place).request('tools/call', tool('slow', { key: 'gone' }), gone));
    await upstream.waitForRequest(
      () => upstream.requestsOf('tools/call').filter(({ text }) => text.includes('"gone"')).length === 2,
    );
    expect(await drain(session.at(b).request('tools/call', tool('echo')))).toBe(429);
    gone.abort();
    expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await eventually(() => drain(session.at(b).request('tools/call', tool('echo')))).toBe(200);
  });
});

describe('ten sessions at a time, counted over both replicas', { timeout: 60_000 }, () => {
  let upstream: ScriptedUpstream;
  let deployment: Deployment;
  const opened: Response[] = [];

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    const servers = [mounted('up', upstream.url), mounted('twin', upstream.url)];
    deployment = await startDeployment({ config: { sessions: { max_active: 10 }, servers } });
  });
  afterEach(async () => {
    upstream.behavior.headerDelayMs = 0;
    upstream.behavior.intercept = () => undefined;
    while (opened.length > 0) await endOne();
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
  });

  /** Initialises; what it opens is ended after the test. */
  async function open(place: Place, options?: SessionOptions): Promise<Response> {
    const answer = await initialize(place, options);
    if (answer.headers.has('mcp-session-id')) opened.push(answer);
    return answer;
  }
  async function endOne(): Promise<void> {
    const answer = opened.pop();
    const headers = { 'mcp-session-id': answer?.headers.get('mcp-session-id') ?? '' };
    expect(await drain(fetch(answer?.url ?? '', { method: 'DELETE', headers }))).toBe(200);
  }
  /** Opens sessions at both replicas in turn until one is refused. */
  async function fill(): Promise<number> {
    const { a, b } = deployment;
    while ((await open(opened.length % 2 === 0 ? a : b)).status === 200);
    return opened.length;
  }

  test('of forty clients that initialise at once through both replicas exactly ten succeed', async () => {
    const { a, b } = deployment;
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => open(n % 2 === 0 ? a : b, { path: n < 20 ? '/mcp/up' : '/mcp/twin' })),
    );
    const refused = answers.filter(({ status }) => status !== 200);
    expect([opened.length, refused.length]).toEqual([10, 30]);
    for (const { status, headers } of refused) {
      expect([status, Number(headers.get('retry-after')) > 0]).toEqual([429, true]);
    }
    const error = { data: { code: 'sessions_limit' } };
    expect(await refused[0]?.json()).toMatchObject({ jsonrpc: '2.0', id: 'init', error });
    // Nothing was opened upstream for those that were refused.
    expect(upstream.initializes).toHaveLength(10);

    await endOne();
    const late = [await open(a), await open(b)];
    expect(late.map(({ status }) => status)).toEqual([200, 429]);
  });

  test('the place of a session that the server refuses to open is free again', async () => {
    const { a, b } = deployment;
    upstream.behavior.intercept = ({ text }) => (text.includes('"initialize"') ? { status: 500 } : undefined);
    for (let n = 0; n < 12; n += 1) expect(await drain(open(n % 2 === 0 ? a : b))).toBe(502);
    upstream.behavior.intercept = () => undefined;
    expect(await fill()).toBe(10);
  });

  test('the place of a client that goes away while its session is opened is free again', async () => {
    const { a, b } = deployment;
    // None is answered while the clients are there.
    upstream.behavior.headerDelayMs = 5_000;
    const gone = new AbortController();
    const count = upstream.requestsOf('initialize').length;
    const leaving = Array.from({ length: 10 }, (_, n) => initialize(n % 2 === 0 ? a : b, { signal: gone.signal }));
    await upstream.waitForRequest(() => upstream.requestsOf('initialize').length === count + 10);
    expect(await drain(open(a))).toBe(429);
    gone.abort();
    expect((await Promise.allSettled(leaving)).filter(({ status }) => status === 'fulfilled')).toEqual([]);
    upstream.behavior.headerDelayMs = 0;
    await eventually(fill).toBe(10);
  });

  test('nothing is left of a session whose client went away while it was being stored', async () => {
    const { a, redis } = deployment;
    const places = async (): Promise<unknown> => {
      const health = await fetch(`${a.url}/healthz`);
      return asObject(asObject(asObject(await health.json()).persistence).state_inventory).sessions_count;
    };
    expect(await places()).toBe(0);
    const gone = new AbortController();
    const [count, before] = [upstream.requestsOf('initialize').length, upstream.initializes.length];
    upstream.behavior.headerDelayMs = 1_000;
    const leaving = initialize(a, { signal: gone.signal });
    await upstream.waitForRequest(() => upstream.requestsOf('initialize').length > count);
    // The place is taken; what remains is to keep the session, which takes until Redis goes on.
    await redis.pause();
    await eventually(() => upstream.initializes.length).toBe(before + 1);
    upstream.behavior.headerDelayMs = 0;
    gone.abort();
    await expect(leaving).rejects.toThrow('abort');
    const [upstreamId = ''] = [...upstream.sessions.keys()].slice(-1);
    await eventually(() => upstream.sessions.has(upstreamId)).toBe(false);
    await redis.resume();
    // What is asked of Redis later is done later: the session has been stored by now.
    await open(a);
    await endOne();
    await eventually(places).toBe(0);
  });
});
