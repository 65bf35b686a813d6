import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { asObject, type JsonObject } from '../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { EventReader } from './kit/events.ts';
import { drain, openSession, textOf } from './kit/session.ts';

/** Spaces, unknown members, escapes and a number that a JSON parser damages: only the bytes themselves keep all of it. */
const ODD_PARAMS =
  '{ "protocolVersion" :"2025-06-18",\t"capabilities":{"roots":{ },"x-new":[1 ,2]},"clientInfo":{"version":"1","name":"caf\\u00e9 \\/"},"big":9007199254740993 }';

const paramsText = (body: string): string => body.slice(body.indexOf('"params":') + '"params":'.length, -1);

async function startOf(retries: number): Promise<{ upstream: ScriptedUpstream; deployment: Deployment }> {
  const upstream = await startScriptedUpstream();
  const config = {
    sessions: { upstream_session_termination_retries: retries },
    servers: [mounted('up', upstream.url)],
  };
  try {
    return { upstream, deployment: await startDeployment({ config }) };
  } catch (error) {
    await upstream.close();
    throw error;
  }
}

describe('a server that restarts and forgets its sessions, behind two replicas', () => {
  let upstream: ScriptedUpstream;
  let deployment: Deployment;

  beforeAll(async () => {
    ({ upstream, deployment } = await startOf(1));
  });
  afterEach(() => {
    upstream.behavior.headerDelayMs = 0;
    upstream.behavior.intercept = () => undefined;
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
  });

  test('is initialised once more, however many calls of how many replicas find out, and none of them fails', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    const before = upstream.initializes.length;
    upstream.forgetSessions();
    // So slow that both replicas find out long before either has a new session.
    upstream.behavior.headerDelayMs = 100;
    const calls = Array.from({ length: 20 }, (_, n) => session.at(n % 2 === 0 ? a : b).tool('echo', { n }));
    const texts = (await Promise.all(calls)).map(textOf);
    expect(texts).toEqual(Array.from({ length: 20 }, (_, n) => `{"n":${n}}`));
    expect(upstream.initializes.length).toBe(before + 1);
    expect(upstream.sessions.size).toBe(1);
  });

  test('is told everything that the client had told it: parameters, log level, subscriptions', async () => {
    const { a, b } = deployment;
    const session = await openSession(a, { initializeParams: ODD_PARAMS });
    await session.at(a).call('logging/setLevel', { level: 'error' });
    await session.at(b).call('logging/setLevel', { level: 'debug' });
    await session.at(a).call('resources/subscribe', { uri: 'test://ünïcode/"1"' });
    await session.at(b).call('resources/subscribe', { uri: 'test://dropped' });
    await session.at(b).call('resources/subscribe', { uri: 'test://second' });
    await session.at(a).call('resources/unsubscribe', { uri: 'test://dropped' });
    const refusal = { jsonrpc: '2.0', id: 99, error: { code: -32_002, message: 'Resource not found' } };
    const headers = { 'content-type': 'application/json' };
    upstream.behavior.intercept = ({ text }) =>
      text.includes('refused') ? { status: 200, headers, body: JSON.stringify(refusal) } : undefined;
    const params = { uri: 'test://refused' };
    const refused = await session.at(b).send({ jsonrpc: '2.0', id: 99, method: 'resources/subscribe', params });
    expect(await refused.json()).toEqual(refusal);

    upstream.forgetSessions();
    const mark = upstream.requests.length;
    expect(textOf(await session.at(b).tool('echo'))).toBe('{}');
    expect(textOf(await session.at(a).tool('echo'))).toBe('{}');

    const sent = upstream.requests.slice(mark).map(({ json, text, headers }) => ({
      method: String(asObject(json).method),
      params: text.includes('"params":') ? paramsText(text) : undefined,
      session: headers['mcp-session-id'],
      version: headers['mcp-protocol-version'],
    }));
    const [renewed] = [...upstream.sessions.keys()];
    const known = { session: renewed, version: '2025-06-18' };
    expect(sent.slice(1)).toMatchObject([
      { method: 'initialize', params: ODD_PARAMS, session: undefined },
      { method: 'notifications/initialized', ...known },
      { method: 'logging/setLevel', params: '{"level":"debug"}', ...known },
      { method: 'resources/subscribe', params: '{"uri":"test://ünïcode/\\"1\\""}', ...known },
      { method: 'resources/subscribe', params: '{"uri":"test://second"}', ...known },
      { method: 'tools/call', ...known },
      { method: 'tools/call', ...known },
    ]);
  });

  test('says with HTTP 400 that it does not know the session, as some servers do', async () => {
    const { a } = deployment;
    const session = await openSession(a);
    const [lost] = [...upstream.sessions.keys()].slice(-1);
    const error = { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'Bad Request: No valid session ID' } };
    upstream.behavior.intercept = ({ headers }) =>
      headers['mcp-session-id'] === lost
        ? { status: 400, headers: { 'content-type': 'application/json' }, body: JSON.stringify(error) }
        : undefined;
    expect(textOf(await session.at(a).tool('echo', { again: true }))).toBe('{"again":true}');
  });

  test('what only its lost session can understand is not sent to the new one', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    upstream.forgetSessions();
    const before = upstream.requests.length;
    const answer = await session.at(a).send({ jsonrpc: '2.0', id: 0, result: {} });
    expect(await answer.json()).toMatchObject({ id: null, error: { data: { code: 'upstream_session_terminated' } } });
    const cancelled = { method: 'notifications/cancelled', params: { requestId: 0 } };
    expect(await drain(session.at(b).send({ jsonrpc: '2.0', ...cancelled }))).toBe(200);
    expect(upstream.requests.slice(before).map(({ json }) => asObject(json))).toMatchObject([{ id: 0 }, cancelled]);
    expect(textOf(await session.at(b).tool('echo', { a: 1 }))).toBe('{"a":1}');
  });

  test('other requests go on too, and so does the stream, at either replica', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    const client = new AbortController();
    const stream = new EventReader(await session.at(a).stream({ signal: client.signal }));
    upstream.forgetSessions();
    expect(await stream.rest()).toEqual([]);
    const again = new EventReader(await session.at(b).stream({ signal: client.signal }));
    expect(await session.at(a).call('prompts/list')).toMatchObject({ result: { prompts: [] } });
    expect(textOf(await session.at(a).tool('notify'))).toBe('sent');
    expect(await again.message()).toMatchObject({ method: 'notifications/message' });
    client.abort();
  });

  test('that forgets again and again: the call is repeated once, then fails as terminated', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    const terminated = { status: 404, headers: { 'content-type': 'application/json' }, body: '{}' };
    upstream.behavior.intercept = ({ json }) => (asObject(json).method === 'tools/call' ? terminated : undefined);
    const before = upstream.requestsOf('tools/call').length;
    expect(await session.at(b).tool('echo')).toMatchObject({
      id: 1,
      error: { message: expect.stringContaining('Session terminated') as unknown },
    });
    expect(upstream.requestsOf('tools/call').length).toBe(before + 2);
    upstream.behavior.intercept = () => undefined;
    expect(textOf(await session.at(a).tool('echo'))).toBe('{}');
  });

  test('and does not come back: the call fails with HTTP 502, and works when it is back', async () => {
    const { a, b } = deployment;
    const session = await openSession(a);
    upstream.forgetSessions();
    await upstream.die();
    const [fromA, fromB] = [session.at(a), session.at(b)];
    const params = { name: 'echo', arguments: {} };
    const failed = await Promise.all([fromA.request('tools/call', params), fromB.request('tools/call', params)]);
    expect(failed.map(({ status }) => status)).toEqual([502, 502]);
    const bodies = (await Promise.all(failed.map((response) => response.json()))) as JsonObject[];
    expect(bodies).toMatchObject([
      { id: 1, error: { data: { code: 'upstream_unreachable' } } },
      { id: 2, error: { data: { code: 'upstream_unreachable' } } },
    ]);
    await upstream.listenAgain();
    expect(textOf(await fromB.tool('echo'))).toBe('{}');
  });
});

describe('with no retries for terminated sessions', () => {
  let upstream: ScriptedUpstream;
  let deployment: Deployment;

  beforeAll(async () => {
    ({ upstream, deployment } = await startOf(0));
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
  });

  test('the call fails as terminated and reaches the server once; the next call works', async () => {
    const { a, b } = deployment;
    const session = await openSession(b);
    upstream.forgetSessions();
    const response = await session.at(a).request('tools/call', { name: 'echo', arguments: {} });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      id: 1,
      error: { code: -32001, data: { code: 'upstream_session_terminated' } },
    });
    expect(upstream.requestsOf('tools/call')).toHaveLength(1);
    expect(textOf(await session.at(b).tool('echo', { next: 1 }))).toBe('{"next":1}');
    expect(upstream.requestsOf('tools/call')).toHaveLength(2);
    expect(upstream.initializes).toHaveLength(2);
  });
});
