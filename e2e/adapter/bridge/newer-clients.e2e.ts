import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startFixture } from '../../support/fixture-process.ts';
import { asObject } from '../../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';
import { EventReader, isMethod } from '../kit/events.ts';
import { type Place, textOf } from '../kit/session.ts';
import { secret } from '../../support/secrets/secret.ts';
import { answeredBy, callSessionless, sendSessionless, type SessionlessAnswer } from './kit/sessionless.ts';

const ELICITATION = { capabilities: { elicitation: {} } };
const ASK = { name: 'elicit', arguments: {} };
const ANSWER = { action: 'accept', content: { name: 'Ada' } };

describe('a client without sessions at a server that wants them, behind two replicas', () => {
  let upstream: ScriptedUpstream;
  let deployment: Deployment;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    deployment = await startDeployment({ config: { servers: [mounted('up', upstream.url)] } });
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
  });

  test('is told what the server offers', async () => {
    const { result } = await callSessionless(deployment.a, 'server/discover');
    expect(result).toMatchObject({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
      cacheScope: 'private',
    });
    const { result: list } = await callSessionless(deployment.b, 'tools/list');
    expect(list).toMatchObject({ resultType: 'complete', cacheScope: 'private' });
    expect(JSON.stringify(list.tools)).toContain('"elicit"');
  });

  test('gets a session for each call, opened with what it says of itself', async () => {
    const capabilities = { sampling: {}, elicitation: { form: {} } };
    const { message, result } = await callSessionless(
      deployment.balancer,
      'tools/call',
      { name: 'echo', arguments: { text: 'hi' }, _meta: { 'x.example/own': 1, progressToken: 'p' } },
      { capabilities },
    );
    expect(textOf(message)).toContain('hi');
    expect(result).toMatchObject({ resultType: 'complete' });
    await expect.poll(() => upstream.sessions.size).toBe(0);
    const isIt = ({ text }: { readonly text: string }): boolean => text.includes('"hi"');
    const id = upstream.requests.find(isIt)?.headers['mcp-session-id'];
    const [initialized, stream, call, ended, ...more] = upstream.requests.filter(
      ({ headers }) => headers['mcp-session-id'] === id,
    );
    expect(more).toEqual([]);
    const said = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'sessionless', version: '1' } };
    expect(upstream.initializes).toContainEqual(said);
    expect(asObject(initialized?.json).method).toBe('notifications/initialized');
    // It may ask there what it asks of this client.
    expect(stream?.method).toBe('GET');
    expect(asObject(call?.json).params).toMatchObject({ _meta: { 'x.example/own': 1 } });
    expect(Object.keys(call?.headers ?? {}).filter((name) => name.startsWith('mcp-'))).toEqual([
      'mcp-protocol-version',
      'mcp-session-id',
    ]);
    expect(JSON.stringify(call?.json)).not.toContain('io.modelcontextprotocol/');
    expect(ended?.method).toBe('DELETE');
  });

  test('hears progress, and log messages when it asks for them', async () => {
    const hears = async (meta: object): Promise<string[]> => {
      const { others } = await callSessionless(deployment.a, 'tools/call', {
        name: 'progress',
        arguments: {},
        _meta: { progressToken: 7, ...meta },
      });
      return others.map(({ method, params }) => JSON.stringify([method, asObject(params).progress]));
    };
    const progress = [1, 2, 3].map((step) => JSON.stringify(['notifications/progress', step]));
    expect(await hears({})).toEqual(progress);
  });

  test('is asked in a round of its own; the answer comes through the other replica', async () => {
    const { a, b } = deployment;
    const asked = await callSessionless(a, 'tools/call', ASK, ELICITATION);
    expect(asked.status).toBe(200);
    expect(asked.result).toMatchObject({ resultType: 'input_required' });
    const [question] = Object.values(asObject(asked.result.inputRequests));
    expect(question).toMatchObject({ method: 'elicitation/create', params: { message: expect.any(String) } });

    const again = { ...ASK, ...answeredBy(asked.result, ANSWER) };
    const answered = await callSessionless(b, 'tools/call', again, ELICITATION);
    expect(JSON.parse(textOf(answered.message))).toMatchObject({ result: ANSWER });
    await expect.poll(() => upstream.sessions.size).toBe(0);

    const twice = await callSessionless(a, 'tools/call', again, ELICITATION);
    expect([twice.status, asObject(twice.message.error).code]).toEqual([400, -32602]);
  });

  test('is asked what the server asks on the stream of the session, as of its call', async () => {
    const { a, b } = deployment;
    const ask = { ...ASK, arguments: { on: 'get' } };
    const asked = await callSessionless(a, 'tools/call', ask, ELICITATION);
    expect(asked.result).toMatchObject({ resultType: 'input_required' });
    const again = { ...ask, ...answeredBy(asked.result, ANSWER) };
    const answered = await callSessionless(b, 'tools/call', again, ELICITATION);
    expect(JSON.parse(textOf(answered.message))).toMatchObject({ result: ANSWER });
    await expect.poll(() => upstream.sessions.size).toBe(0);
  });

  test('T18: brings its own answers only, to the call that asked', async () => {
    const { a, b } = deployment;
    const { result } = await callSessionless(a, 'tools/call', ASK, ELICITATION);
    const again = answeredBy(result, ANSWER);
    const state = String(result.requestState);
    const refusals = await Promise.all(
      [
        { ...ASK, ...again, requestState: state.slice(0, 60) + (state[60] === 'A' ? 'B' : 'A') + state.slice(61) },
        { ...ASK, ...again, requestState: 'mcp-adapter-bridge.1.' },
        { ...ASK, ...again, requestState: 'of somebody else' },
        { ...ASK, ...again, arguments: { other: true } },
        { ...ASK, ...again, name: 'echo' },
      ].map((params) => callSessionless(b, 'tools/call', params, ELICITATION)),
    );
    expect(refusals.map(({ status, message }) => [status, asObject(message.error).code])).toEqual(
      refusals.map(() => [400, -32602]),
    );
    // What is missing is asked for once more.
    const once = await callSessionless(b, 'tools/call', { ...ASK, ...again, inputResponses: {} }, ELICITATION);
    expect(once.result).toMatchObject({ resultType: 'input_required', inputRequests: result.inputRequests });
    const answered = await callSessionless(b, 'tools/call', { ...ASK, ...again }, ELICITATION);
    expect(JSON.parse(textOf(answered.message))).toMatchObject({ result: ANSWER });
  });

  test('must say who it is, in a revision that there is', async () => {
    const send = (meta: object, version = '2026-07-28'): Promise<unknown> =>
      fetch(`${deployment.a.url}/mcp/up`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'mcp-protocol-version': version, 'mcp-method': 'tools/list' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } }),
      }).then(async (response) => [response.status, asObject(asObject(await response.json()).error)]);
    const named = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
    const capable = { 'io.modelcontextprotocol/clientCapabilities': {} };
    expect(await send(capable)).toMatchObject([400, { code: -32602 }]);
    expect(await send(named)).toMatchObject([400, { code: -32602 }]);
    const later = { ...capable, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };
    expect(await send(later, '2099-01-01')).toMatchObject([
      400,
      { code: -32022, data: { supported: ['2026-07-28'], requested: '2099-01-01' } },
    ]);
  });

  test('is told what it would have to offer', async () => {
    const { status, message } = await callSessionless(deployment.a, 'tools/call', ASK);
    expect(status).toBe(400);
    expect(message.error).toMatchObject({ code: -32021, data: { requiredCapabilities: { elicitation: {} } } });
    await expect.poll(() => upstream.sessions.size).toBe(0);
  });

  test('leaves, and the call ends at the server', async () => {
    const client = new AbortController();
    const before = upstream.cancelled.length;
    const call = sendSessionless(
      deployment.a,
      'tools/call',
      { name: 'cancel_aware', arguments: {} },
      { signal: client.signal },
    );
    await expect.poll(() => upstream.sessions.size).toBe(1);
    await expect
      .poll(() => upstream.requestsOf('tools/call').some(({ text }) => text.includes('cancel_aware')))
      .toBe(true);
    client.abort();
    await expect(call).rejects.toThrow();
    await expect.poll(() => upstream.cancelled.length).toBe(before + 1);
    await expect.poll(() => upstream.sessions.size).toBe(0);
  });

  test('listens for changes', async () => {
    const client = new AbortController();
    const notifications = { toolsListChanged: true, promptsListChanged: true };
    const stream = new EventReader(
      await sendSessionless(deployment.a, 'subscriptions/listen', { notifications }, { signal: client.signal }),
    );
    const acknowledged = await stream.message();
    expect(acknowledged).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { toolsListChanged: true } },
    });
    upstream.announceToolsChanged();
    const changed = await stream.message(isMethod('notifications/tools/list_changed'));
    const id = (message: typeof changed): unknown =>
      asObject(asObject(message.params)._meta)['io.modelcontextprotocol/subscriptionId'];
    expect(id(changed)).toBe(id(acknowledged));
    client.abort();
    await expect.poll(() => upstream.sessions.size).toBe(0);
  });

  test('gets the errors of its own revision', async () => {
    const unknown = await callSessionless(deployment.a, 'foo/bar');
    expect([unknown.status, asObject(unknown.message.error).code]).toEqual([404, -32601]);
    const ping = await callSessionless(deployment.a, 'ping');
    expect([ping.status, asObject(ping.message.error).code]).toEqual([404, -32601]);
  });
});

describe('callers who keep their sessions', () => {
  const tokens = [
    { name: 'ada', token: secret('token of Ada') },
    { name: 'bob', token: secret('token of Bob') },
  ];
  const auth = { enabled: true, header_name: 'X-Token', tokens };
  const as = (index: number) => ({ headers: { 'x-token': tokens[index]?.token ?? '' } });
  let upstream: ScriptedUpstream;
  let resumable: ScriptedUpstream;
  let deployment: Deployment;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    resumable = await startScriptedUpstream({ eventIds: true });
    const keeping = (id: string, { url }: ScriptedUpstream, sessions: string) =>
      mounted(id, url, { upstream: { url, bridge_sessions: sessions } });
    const servers = [
      keeping('up', upstream, 'per_caller'),
      keeping('per_caller', resumable, 'per_caller'),
      keeping('per_call', resumable, 'per_call'),
      keeping('shared', upstream, 'shared'),
    ];
    deployment = await startDeployment({ config: { core: { auth }, servers } });
  });
  afterAll(async () => {
    await deployment?.close();
    await resumable?.close();
    await upstream?.close();
  });

  test('have one each, at any replica, and no more of it than what is theirs', async () => {
    const { a, b } = deployment;
    const call = async (place: Place, who: number, text: string): Promise<string> =>
      textOf((await callSessionless(place, 'tools/call', { name: 'echo', arguments: { text } }, as(who))).message);
    const texts = Array.from({ length: 20 }, (_, index) => `nonce-${index}`);
    const said = await Promise.all(texts.map((text, index) => call(index % 3 === 0 ? a : b, index % 2, text)));
    expect(said).toEqual(texts.map((text) => JSON.stringify({ text })));
    const sessionsOf = (parity: number): Set<unknown> =>
      new Set(
        upstream
          .requestsOf('tools/call')
          .filter(({ text }) => Number(/nonce-(\d+)/.exec(text)?.[1]) % 2 === parity)
          .map(({ headers }) => headers['mcp-session-id']),
      );
    expect([sessionsOf(0).size, sessionsOf(1).size]).toEqual([1, 1]);
    expect(sessionsOf(0)).not.toEqual(sessionsOf(1));

    upstream.forgetSessions();
    expect(await Promise.all([call(a, 0, 'later'), call(b, 0, 'later too')])).toEqual([
      '{"text":"later"}',
      '{"text":"later too"}',
    ]);
  });

  test.each(['per_caller', 'per_call'])('are asked each for itself: %s', async (server) => {
    const { a, b } = deployment;
    const [ada, bob] = [0, 1].map((who) => ({ ...ELICITATION, ...as(who), server }));
    const asked = await Promise.all([ada, ada, bob].map((who) => callSessionless(a, 'tools/call', ASK, who)));
    const again = asked.map(({ result }, index) => ({
      ...ASK,
      ...answeredBy(result, { action: 'accept', content: { name: `nonce-${index}` } }),
    }));
    const foreign = await callSessionless(b, 'tools/call', again[0] ?? {}, bob);
    expect([foreign.status, asObject(foreign.message.error).code]).toEqual([400, -32602]);
    const answered = await Promise.all(
      [ada, ada, bob].map((who, index) => callSessionless(index === 0 ? a : b, 'tools/call', again[index] ?? {}, who)),
    );
    for (const [index, { message }] of answered.entries()) expect(textOf(message)).toContain(`nonce-${index}`);
  });

  const ON_STREAM = { ...ASK, arguments: { on: 'get' } };

  test('are asked on the stream of their session, which is opened once for all calls', async () => {
    const { a, b } = deployment;
    // What a client offers is a part of its session's key: this one is new.
    const ada = { ...as(0), capabilities: { elicitation: {}, roots: {} }, server: 'per_caller' };
    const streams = (): number => resumable.requests.filter(({ method }) => method === 'GET').length;
    const before = streams();
    for (const name of ['first', 'second']) {
      // oxlint-disable-next-line no-await-in-loop -- one call after the other
      const { result } = await callSessionless(a, 'tools/call', ON_STREAM, ada);
      const params = { ...ON_STREAM, ...answeredBy(result, { action: 'accept', content: { name } }) };
      // oxlint-disable-next-line no-await-in-loop -- see above
      expect(textOf((await callSessionless(b, 'tools/call', params, ada)).message)).toContain(name);
    }
    expect(streams() - before).toBe(1);
  });

  test('are asked where their call is, also while another replica has the stream of their session', async () => {
    const { a, b } = deployment;
    const ada = { ...as(0), capabilities: { elicitation: {}, sampling: {} }, server: 'per_caller' };
    for (const [name, first, second] of [
      ['first', a, b],
      ['second', b, a],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- one call after the other
      const { message, result } = await callSessionless(first, 'tools/call', ON_STREAM, ada);
      expect([name, asObject(message.result).resultType]).toEqual([name, 'input_required']);
      const params = { ...ON_STREAM, ...answeredBy(result, { action: 'accept', content: { name } }) };
      // oxlint-disable-next-line no-await-in-loop -- see above
      expect(textOf((await callSessionless(second, 'tools/call', params, ada)).message)).toContain(name);
    }
  });

  test('have no part of what is asked on the stream of a session of many', async () => {
    const ada = { ...ELICITATION, ...as(0), server: 'shared' };
    const { message } = await callSessionless(deployment.a, 'tools/call', ON_STREAM, ada);
    expect(JSON.parse(textOf(message))).toMatchObject({ error: { code: -32601 } });
  });
});

describe('a replica that is killed while calls wait for an answer', () => {
  let resumable: ScriptedUpstream;
  let upstream: ScriptedUpstream;
  let deployment: Deployment;
  const asked = new Map<string, SessionlessAnswer>();

  beforeAll(async () => {
    resumable = await startScriptedUpstream({ eventIds: true });
    upstream = await startScriptedUpstream();
    const kept = { upstream: { url: resumable.url, bridge_sessions: 'shared' } };
    const servers = [
      mounted('resumable', resumable.url),
      mounted('lost', upstream.url),
      mounted('kept', resumable.url, kept),
    ];
    deployment = await startDeployment({ config: { servers } });
    for (const server of ['resumable', 'lost', 'kept']) {
      asked.set(server, await callSessionless(deployment.a, 'tools/call', ask(server), { ...ELICITATION, server }));
    }
    deployment.a.kill();
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
    await resumable?.close();
  });

  /** What tells the calls of one mount from those of another. */
  const ask = (server: string) => ({ ...ASK, arguments: { of: server } });
  const answer = (server: string): Promise<SessionlessAnswer> => {
    const params = { ...ask(server), ...answeredBy(asked.get(server)?.result ?? {}, ANSWER) };
    return callSessionless(deployment.b, 'tools/call', params, { ...ELICITATION, server });
  };
  const callsOf = (server: string, at: ScriptedUpstream = resumable) =>
    at.requestsOf('tools/call').filter(({ text }) => text.includes(`"of":"${server}"`));

  test.each(['resumable', 'lost'])('a call of a server whose calls are %s has run once', async (server) => {
    const startedAt = performance.now();
    const { message } = await answer(server);
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    if (server === 'resumable') expect(JSON.parse(textOf(message))).toMatchObject({ result: ANSWER });
    else
      expect(message.error).toMatchObject({
        data: { code: 'upstream_failed' },
        message: expect.stringContaining('is gone'),
      });
    expect(callsOf(server, server === 'lost' ? upstream : resumable)).toHaveLength(1);
  });

  test('a session that is kept outlives it', async () => {
    expect(JSON.parse(textOf((await answer('kept')).message))).toMatchObject({ result: ANSWER });
    const echo = { name: 'echo', arguments: { text: 'hi', of: 'kept' } };
    const { message } = await callSessionless(deployment.b, 'tools/call', echo, { ...ELICITATION, server: 'kept' });
    expect(textOf(message)).toContain('hi');
    const ids = callsOf('kept').map(({ headers }) => headers['mcp-session-id']);
    expect([ids.length, new Set(ids).size]).toEqual([2, 1]);
    expect(resumable.sessions.has(String(ids[0]))).toBe(true);
  });
});

test('a server of HTTP+SSE is reached, too', async () => {
  await using fixture = await startFixture();
  const servers = ['per_call', 'shared'].map((sessions) => {
    const upstream = { url: fixture.sseUrl, transport: 'sse', bridge_sessions: sessions };
    return mounted(sessions, fixture.sseUrl, { upstream });
  });
  await using deployment = await startDeployment({ config: { servers } });
  const { a, b } = deployment;
  for (const server of ['per_call', 'shared']) {
    for (const place of [a, b, a]) {
      const params = { name: 'test_simple_text', arguments: {} };
      const { message } = await callSessionless(place, 'tools/call', params, { server });
      expect(textOf(message), server).toContain('simple text');
    }
  }
});
