import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { asObject } from '../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { startRawUpstream } from '../support/raw-upstream.ts';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { EventReader } from './kit/events.ts';
import { drain, initialize, openSession, type Session, textOf } from './kit/session.ts';
import { startInProcess } from './kit/in-process.ts';
import { within } from './kit/within.ts';

/** Long enough for a busy machine, and shorter than what must not be waited for. */
const PROMPT_MS = 2_500;
const SLOW_END_MS = 4_000;
/** How long a cancelled call may still be answered. */
const GRACE_MS = 5_000;

describe('a call that is ended through the other replica', { timeout: 30_000 }, () => {
  let upstream: ScriptedUpstream;
  let deployment: Deployment;
  let session: Session;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    deployment = await startDeployment({ config: { servers: [mounted('up', upstream.url)] } });
  });
  beforeEach(async () => {
    upstream.behavior.answers = 'json';
    upstream.behavior.headerDelayMs = 0;
    session = await openSession(deployment.a);
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
  });

  /** Starts a call through A that is not answered by itself; resolves when the upstream has it. */
  async function startCall(idText: string, name = 'slow', key = 'never'): Promise<{ answer: Promise<Response> }> {
    const count = upstream.requestsOf('tools/call').length;
    const params = `{"name":"${name}","arguments":{"key":"${key}"}}`;
    const body = `{"jsonrpc":"2.0","id":${idText},"method":"tools/call","params":${params}}`;
    const answer = session.at(deployment.a).send(body);
    await upstream.waitForRequest((request) => request === upstream.requestsOf('tools/call')[count]);
    return { answer };
  }

  describe('by DELETE', () => {
    test('fails with HTTP 404 and its id, and the session is gone at both replicas and upstream', async () => {
      const { a, b } = deployment;
      const [upstreamId = ''] = [...upstream.sessions.keys()].slice(-1);
      const { answer } = await startCall('"c"');
      const ended = await session.at(b).end();
      expect([ended.status, await ended.text()]).toEqual([200, '']);

      const response = await within(PROMPT_MS, 'the end of the call', answer);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({
        id: 'c',
        error: { code: -32001, data: { code: 'session_ended' } },
      });

      const [deletion] = upstream.requests.filter(({ method, headers }) => {
        return method === 'DELETE' && headers['mcp-session-id'] === upstreamId;
      });
      expect(deletion?.headers['mcp-protocol-version']).toBe('2025-11-25');
      expect(upstream.sessions.has(upstreamId)).toBe(false);
      for (const place of [a, b]) {
        const refused = await session.at(place).request('tools/call', { name: 'echo' });
        expect(refused.status).toBe(404);
        expect(await refused.json()).toMatchObject({ error: { data: { code: 'session_not_found' } } });
        expect(await drain(session.at(place).stream())).toBe(404);
        expect(await drain(session.at(place).end())).toBe(404);
      }
    });

    test('fails with an error event when its stream is open; the session’s stream ends in order', async () => {
      const { a, b } = deployment;
      upstream.behavior.answers = 'sse';
      const stream = new EventReader(await session.at(a).stream());
      const { answer } = await startCall('7');
      const call = new EventReader(await answer);
      expect(await drain(session.at(b).end())).toBe(200);
      expect(await call.rest(PROMPT_MS)).toMatchObject([{ id: 7, error: { data: { code: 'session_ended' } } }]);
      expect(await stream.rest(PROMPT_MS)).toEqual([]);
    });

    test('fails promptly also when the server takes long to end the session', async () => {
      const { answer } = await startCall('8');
      upstream.behavior.headerDelayMs = SLOW_END_MS;
      const ended = drain(session.at(deployment.b).end());
      expect((await within(PROMPT_MS, 'the end of the call', answer)).status).toBe(404);
      expect(await ended).toBe(200);
    });

    test('leaves other sessions alone, and ends once when both replicas are asked at the same moment', async () => {
      const { a, b } = deployment;
      const other = await openSession(b);
      const statuses = await Promise.all([drain(session.at(a).end()), drain(session.at(b).end())]);
      expect(statuses.toSorted((one, two) => one - two)).toEqual([200, 404]);
      expect(textOf(await other.at(a).tool('echo', { still: 'here' }))).toBe('{"still":"here"}');
    });
  });

  describe('by notifications/cancelled', () => {
    const cancel = (idText: string): Promise<number> => {
      const params = `{"requestId":${idText},"reason":"changed my mind"}`;
      const body = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`;
      return drain(session.at(deployment.b).send(body));
    };

    test('is cancelled upstream, and its stream ends as the server ends it', async () => {
      const { answer } = await startCall('"42"', 'cancel_aware');
      const call = new EventReader(await answer);
      expect(await cancel('"42"')).toBe(202);
      expect(await call.rest(PROMPT_MS)).toEqual([]);
      expect(upstream.cancelled).toContainEqual({ requestId: '42', reason: 'changed my mind' });
    });

    test('that is not the one which was named goes on', async () => {
      const { answer } = await startCall('1', 'cancel_aware');
      const call = new EventReader(await answer);
      expect(await cancel('2')).toBe(202);
      expect(await cancel('"1"')).toBe(202);
      upstream.release('cancel_aware');
      const messages = await call.rest();
      expect(messages.map(textOf)).toEqual(['not cancelled']);
    });

    test('ends after a grace when the server leaves it unanswered, whichever way its id is written', async () => {
      // The same id to a JSON parser each time; the second is written in another way by the notification.
      const ids = [
        { call: '9007199254740993', cancelled: '9007199254740993' },
        { call: '"caf\\u00e9\\/1"', cancelled: '"café/1"' },
        { call: '"☕"', cancelled: '"\\u2615"' },
      ];
      const answers: Promise<Response>[] = [];
      for (const id of ids) answers.push((await startCall(id.call)).answer);
      const { answer: spared } = await startCall('9007199254740995', 'slow', 'spared');
      const cancelledAt = performance.now();
      for (const id of ids) expect(await cancel(id.cancelled)).toBe(202);
      const responses = await within(GRACE_MS + 5_000, 'the end of the cancelled calls', Promise.all(answers));
      // The grace lets a server answer that has finished meanwhile.
      expect(performance.now() - cancelledAt).toBeGreaterThan(GRACE_MS - 1_000);
      for (const [index, response] of responses.entries()) {
        expect(response.status).toBe(200);
        const text = await response.text();
        expect(asObject(JSON.parse(text)).error).toMatchObject({ data: { code: 'cancelled' } });
        if (index === 0) expect(text).toContain('9007199254740993');
      }
      // The one that was not named still runs.
      upstream.release('spared');
      expect((await spared).status).toBe(200);
      expect(await (await spared).text()).toContain('done');
    });
  });
});

test('a client that leaves while its session is opened leaves none behind upstream', async () => {
  await using upstream = await startRawUpstream(({ method }, res) => {
    if (method === 'DELETE') res.writeHead(200).end();
    else res.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-session-id': 'opened' }).flushHeaders();
  });
  await using adapter = await startInProcess({ servers: [mounted('up', `${upstream.url}/mcp`)] });
  const client = new AbortController();
  const opening = initialize(adapter, { signal: client.signal });
  await upstream.waitForRequest(({ method }) => method === 'POST');
  // By then the head has come.
  await drain(fetch(`${adapter.url}/healthz`));
  client.abort();
  await expect(opening).rejects.toThrow('aborted');
  const deletion = await upstream.waitForRequest(({ method }) => method === 'DELETE');
  expect(deletion.headers['mcp-session-id']).toBe('opened');
});
