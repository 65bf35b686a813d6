import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import type { Answer } from '../exchange/answers/answer.ts';
import { type Body, SESSIONLESS_REVISION } from '../exchange/message.ts';
import { FakeUpstream } from '../exchange/testing/fake-upstream.ts';
import { noWorkspace, workspaceRecord } from '../sessions/workspace-record.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';
import { SessionRegistry } from '../sessions/session-registry.ts';
import { sessionRecord } from '../sessions/testing/session-record.ts';
import { MemoryStore } from '../state/memory/memory-store.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { OwnAnswers } from './own-answers.ts';
import { answerTo, bodyOf, pass, refusal, sampleOperation, through } from './testing/step-scene.ts';

const read: string[] = [];
const resources = {
  list: async () => ['{"uri":"own:a"}'],
  owns: (uri: string) => uri.startsWith('own:'),
  read: async ({ sessionId }: Pick<SessionRecord, 'sessionId'>, uri: string): Promise<Answer | undefined> => {
    read.push(`${sessionId} ${uri}`);
    return uri === 'own:gone' ? undefined : '{"contents":[]}';
  },
};
const upstream = new FakeUpstream();
const additions = { steps: new Map(), transforms: new Map(), own: [], resources };
const mount = sampleMount({}, { upstream, additions });

let store: MemoryStore;
let sessions: SessionRegistry;
beforeEach(() => {
  read.length = 0;
  store = new MemoryStore();
  sessions = new SessionRegistry(store, { maxActive: null, maxInFlight: null, idleTtlMs: null });
});
afterEach(() => sessions.stop());

const body = (text: string): Body => bodyOf(text);
const request = (method: string, uri: string): string =>
  `{"jsonrpc":"2.0","id":5,"method":"${method}","params":{"uri":${uri}}}`;
const operationOf = ({ text }: Body, record = sessionRecord(), isSessionless = false) => {
  const operation = sampleOperation(text, { isSessionless });
  operation.record = record;
  return operation;
};
const step = (): OwnAnswers => new OwnAnswers(mount, sessions);
const answer = (of: Body): Promise<string> => answerTo([step()], operationOf(of));

describe('a request about a resource of the adapter', () => {
  test('is answered here', async () => {
    expect(await answer(body(request('resources/read', '"own:a"')))).toBe(
      '200 {"jsonrpc":"2.0","id":5,"result":{"contents":[]}}',
    );
    read.length = 0;
    for (const method of ['resources/subscribe', 'resources/unsubscribe']) {
      expect(await answer(body(request(method, '"own:gone"')))).toBe('200 {"jsonrpc":"2.0","id":5,"result":{}}');
    }
    expect(read).toEqual([]);
  });

  test('that is not there says so without ending the session', async () => {
    expect(await answer(body(request('resources/read', '"own:gone"')))).toBe(
      '200 {"jsonrpc":"2.0","id":5,"error":{"code":-32002,"message":"There is no such resource.","data":{"code":"artifact_not_found","uri":"own:gone"}}}',
    );
  });

  test('comes alone', async () => {
    const batch = body(`[{"jsonrpc":"2.0","id":1,"method":"ping"},${request('resources/read', '"own:a"')}]`);
    expect(await refusal(step(), operationOf(batch))).toMatchObject({ code: 'invalid_request' });
  });

  test('is passed on where it is about another', async () => {
    await through(step(), operationOf(body(request('resources/read', '"other:a"'))));
    expect(read).toEqual([]);
  });
});

describe('a client without sessions', () => {
  const nobody = noWorkspace('s1', '', 0);
  const modern = (text: string) => operationOf(body(text), nobody, true);

  test('gets resources of workspaces of its own that it can name', async () => {
    const [own, other] = ['a'.repeat(32), 'b'.repeat(32)];
    await store.open(workspaceRecord('s1', own, nobody.principal, Date.now()));
    const answers = [];
    for (const uri of ['own:a', `own://sessions/${own}/a`, `own://sessions/${other}/a`]) {
      answers.push(await answerTo([step()], modern(request('resources/read', `"${uri}"`))));
    }
    expect(read).toEqual([`${nobody.sessionId} own:a`, `${own} own://sessions/${own}/a`]);
    const result =
      '200 {"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","contents":[]}}';
    expect(answers.slice(0, 2)).toEqual([result, result]);
    expect(answers[2]).toContain('"code":-32602');
  });

  test('hears from the upstream that there are no subscriptions', async () => {
    expect(await pass(step(), modern(request('resources/subscribe', '"own:a"')))).toBeDefined();
  });

  test('gets lists that are the adapter’s alone, where the upstream has none', async () => {
    const list = '{"jsonrpc":"2.0","id":5,"method":"resources/list"}';
    expect(await pass(step(), modern(list))).toBeDefined();
    const probing = mount.revisions.of('client', []);
    const result = { supportedVersions: [SESSIONLESS_REVISION], capabilities: {} };
    const { request: sent } = upstream.last;
    const { id } = JSON.parse(sent.body?.text ?? '') as { id: unknown };
    upstream.last
      .json()
      .data(JSON.stringify({ jsonrpc: '2.0', id, result }))
      .end();
    expect(await probing).toBe('modern');
    expect(await answerTo([step()], modern(list))).toBe(
      '200 {"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","resources":[{"uri":"own:a"}]}}',
    );
  });
});
