import { describe, expect, test } from 'vitest';

import { sampleMount } from '../gateway/testing/sample-mount.ts';
import { testCall } from '../gateway/testing/test-client.ts';
import { noWorkspace, workspaceRecord } from '../sessions/workspace-record.ts';
import { MemoryStore } from '../state/memory/memory-store.ts';
import type { PreparedCall, ToolCall } from '../tools/visible/tool-step.ts';
import { UploadQuestion, type UploadQuestionOptions } from './upload-question.ts';
import { declaresUrls } from './url-elicitation.ts';

const NOW = 1_700_000_000_000;
const HOME = 'a'.repeat(32);
const mount = sampleMount();
const store = new MemoryStore();

function call(more: object = {}, principal = 'me'): ToolCall {
  const params = { name: 't', arguments: {}, ...more };
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  return testCall(text, { mount, store, record: noWorkspace('s1', principal, NOW) });
}

function make(changes: Partial<UploadQuestionOptions> = {}) {
  const kept: boolean[] = [];
  let links = 0;
  const question = new UploadQuestion({
    serverId: 's1',
    secret: 'secret',
    workspaces: {
      open: async (serverId, principal) => ({
        record: workspaceRecord(serverId, HOME, principal, NOW),
        leave: async (isKept) => void kept.push(isKept),
      }),
    },
    mayUse: async () => true,
    offer: async ({ record }) => ({ url: `https://a/${record.sessionId}/${++links}`, expiresAt: NOW + 900_000 }),
    isOpen: async () => true,
    clock: () => NOW,
    waitMs: 0,
    ...changes,
  });
  return { question, kept };
}

function asked(prepared: PreparedCall | undefined) {
  if (prepared?.kind !== 'result' || typeof prepared.result !== 'string') throw new Error(JSON.stringify(prepared));
  const result = JSON.parse(prepared.result);
  expect(result.resultType).toBe('input_required');
  return { requestState: result.requestState as string, params: result.inputRequests.upload.params };
}

const accepted = (requestState: string) => ({ requestState, inputResponses: { upload: { action: 'accept' } } });

describe('a question for an upload', () => {
  test('has the link to a workspace that is kept, and is accepted with its state', async () => {
    const { question, kept } = make();
    const { requestState, params } = asked(await question.ask(call()));
    expect(params).toMatchObject({ mode: 'url', url: `https://a/${HOME}/1`, message: expect.stringContaining('"t"') });
    expect(kept).toEqual([true]);
    expect(await question.answered(call(accepted(requestState)))).toMatchObject({ state: { sessionId: HOME } });
    expect(await question.answered(call(accepted('theirs')))).toBeUndefined();
    expect(await question.answered(call())).toBeUndefined();
  });

  test('leaves no workspace behind when there is no page', async () => {
    const { question, kept } = make({ offer: () => Promise.reject(new Error('down')) });
    await expect(question.ask(call())).rejects.toThrow('down');
    expect(kept).toEqual([false]);
  });

  test.each<[string, Partial<UploadQuestionOptions>, object, string]>([
    ['another server', { serverId: 's2' }, {}, 'me'],
    ['another secret', { secret: 'other' }, {}, 'me'],
    ['another caller', {}, {}, 'you'],
    ['other arguments', {}, { arguments: { a: 1 } }, 'me'],
    ['another tool', {}, { name: 'u' }, 'me'],
    ['a workspace that is gone', { mayUse: async () => false }, {}, 'me'],
    ['a time after its link', { clock: () => NOW + 900_001 }, {}, 'me'],
  ])('T18: is not answered for %s', async (_what, options, more, principal) => {
    const { requestState } = asked(await make().question.ask(call()));
    const answer = await make(options).question.answered(call({ ...accepted(requestState), ...more }, principal));
    expect(answer).toMatchObject({ refused: { kind: 'error', error: { code: 'request_state_invalid' } } });
  });

  test('is put again with the same link, and with another where that is used up', async () => {
    const { requestState, params } = asked(await make().question.ask(call()));
    const silent = await make().question.answered(call({ requestState }));
    expect(asked(silent !== undefined && 'refused' in silent ? silent.refused : undefined).params).toEqual(params);
    const used = make({ isOpen: async () => false, offer: async () => ({ url: 'https://a/new', expiresAt: NOW }) });
    const next = await used.question.answered(call({ requestState }));
    expect(asked(next !== undefined && 'refused' in next ? next.refused : undefined).params.url).toBe('https://a/new');
  });

  test('ends with the reason of a client that has gone away', async () => {
    const { question } = make({ waitMs: 10_000 });
    const { requestState } = asked(await question.ask(call()));
    const answered = await question.answered(call(accepted(requestState)));
    if (answered === undefined || 'refused' in answered) throw new Error('refused');
    const gone = new AbortController();
    const waiting = { ...answered, call: { ...answered.call, signal: gone.signal } };
    const arrived = question.arrived(waiting, async () => {
      gone.abort(new Error('gone'));
      return [];
    });
    await expect(arrived).rejects.toThrow('gone');
  });
});

test.each([
  [{ elicitation: { url: {} } }, true],
  [{ elicitation: { form: {} } }, false],
  [{ elicitation: {} }, false],
  [{ elicitation: { url: true } }, false],
  [null, false],
])('a client that declares %j shows pages: %s', (capabilities, shows) => {
  expect(declaresUrls(call({ _meta: { 'io.modelcontextprotocol/clientCapabilities': capabilities } }))).toBe(shows);
});
