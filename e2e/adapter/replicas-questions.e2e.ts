import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { EventReader, isMethod, isResponse } from './kit/events.ts';
import { drain, openSession, type Session, textOf } from './kit/session.ts';

describe('a server that asks back, behind two replicas', () => {
  let upstream: ScriptedUpstream;
  let deployment: Deployment;
  let session: Session;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    deployment = await startDeployment({ config: { servers: [mounted('up', upstream.url)] } });
    const capabilities = { elicitation: {}, sampling: {} };
    session = await openSession(deployment.a, { capabilities });
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
  });

  const kinds = [
    {
      kind: 'the user',
      tool: 'elicit',
      method: 'elicitation/create',
      answer: { action: 'accept', content: { name: 'Ada' } },
    },
    {
      kind: 'the model',
      tool: 'sample',
      method: 'sampling/createMessage',
      answer: { role: 'assistant', content: { type: 'text', text: 'Hi' }, model: 'm' },
    },
  ];

  test.for(kinds)('asks $kind on the stream of a call; the answer comes through the other replica', async (kind) => {
    const { a, b } = deployment;
    const call = new EventReader(await session.at(a).request('tools/call', { name: kind.tool, arguments: {} }));
    const { id } = await call.message(isMethod(kind.method));

    const posted = await session.at(b).send({ jsonrpc: '2.0', id, result: kind.answer });
    expect([posted.status, await posted.text()]).toEqual([202, '']);

    const answered = await call.message(isResponse);
    expect(JSON.parse(textOf(answered))).toEqual({ jsonrpc: '2.0', id, result: kind.answer });
    expect(await call.rest()).toEqual([]);
  });

  test.for(kinds)(
    'asks $kind on the session’s stream at one replica while the call runs on the other',
    async (kind) => {
      const { a, b } = deployment;
      const client = new AbortController();
      const stream = new EventReader(await session.at(b).stream({ signal: client.signal }));
      const call = session.at(a).tool(kind.tool, { on: 'get' });
      const { id } = await stream.message(isMethod(kind.method));

      expect(await drain(session.at(b).send({ jsonrpc: '2.0', id, result: kind.answer }))).toBe(202);
      expect(JSON.parse(textOf(await call))).toMatchObject({ id, result: kind.answer });
      client.abort();
    },
  );

  test('gets a refusal of the user as it was sent', async () => {
    const { a, b } = deployment;
    const call = new EventReader(await session.at(b).request('tools/call', { name: 'elicit', arguments: {} }));
    const { id } = await call.message(isMethod('elicitation/create'));
    const error = { code: -1, message: 'The user closed the window', data: { seconds: 3 } };
    expect(await drain(session.at(a).send({ jsonrpc: '2.0', id, error }))).toBe(202);
    expect(JSON.parse(textOf(await call.message(isResponse)))).toEqual({ jsonrpc: '2.0', id, error });
  });

  test('works through a balancer that gives every request to the next replica', async () => {
    const { balancer } = deployment;
    const before = balancer.requests.length;
    const fresh = await openSession(balancer, { capabilities: { elicitation: {} } });
    for (const name of ['Ada', 'Grace', 'Hedy']) {
      const call = new EventReader(await fresh.at(balancer).request('tools/call', { name: 'elicit', arguments: {} }));
      const { id } = await call.message(isMethod('elicitation/create'));
      const result = { action: 'accept', content: { name } };
      expect(await drain(fresh.at(balancer).send({ jsonrpc: '2.0', id, result }))).toBe(202);
      expect(JSON.parse(textOf(await call.message(isResponse)))).toMatchObject({ result });
    }
    const targets = balancer.requests.slice(before).map(({ target }) => target);
    expect(new Set(targets).size).toBe(2);
    expect(balancer.requests.slice(before).map(({ status }) => status)).toEqual([
      200, 202, 200, 202, 200, 202, 200, 202,
    ]);
  });
});
