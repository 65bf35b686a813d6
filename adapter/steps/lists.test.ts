import { describe, expect, test } from 'vitest';

import { knownError } from '../errors.ts';
import { EnvelopeScan } from '../exchange/scanning/envelope-scan.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';
import { ReplyMessage } from '../path/reply-message.ts';
import { sessionRecord } from '../sessions/testing/session-record.ts';
import { MemoryStore } from '../state/memory/memory-store.ts';
import { Lists } from './lists.ts';
import { pass, RecordingReply, sampleClient, sampleOperation, through } from './testing/step-scene.ts';

const PLAIN = { tool_metadata_sanitization: { mode: 'off' }, tool_definition_pinning: { mode: 'off' } };
const LIST = { id: 1, method: 'resources/list' };
const RESPONSE = '{"jsonrpc":"2.0","id":1,"result":{"resources":[]}}';
const CHANGED = '{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}';
const record = sessionRecord();

async function scene(server: Record<string, unknown> = PLAIN, listTtlMs = 60_000) {
  const store = new MemoryStore();
  await store.open(record);
  const resources = { list: async () => ['{"uri":"own:a"}'], owns: () => false, read: async () => undefined };
  const additions = { steps: new Map(), transforms: new Map(), own: [], resources };
  const mount = sampleMount(server, { listTtlMs, additions });
  const step = new Lists(mount, sampleClient(mount, store), store, (error) => knownError(error, () => undefined));
  const operation = (message: object | undefined, isSessionless = false) => {
    const one = sampleOperation(message, { isSessionless });
    one.record = record;
    return one;
  };
  const generation = async (): Promise<unknown> => {
    const found = await store.find(record, { principal: '', now: 0 });
    return found.state === 'active' ? found.record.listsGeneration : found.state;
  };
  return { step, operation, generation };
}
function notification(text: string): ReplyMessage {
  const scan = new EnvelopeScan();
  scan.push(text);
  return new ReplyMessage('other', text, { scan });
}

describe('a list', () => {
  test('has what the adapter adds to it, and comes from the cache the next time', async () => {
    const { step, operation } = await scene();
    const first = new RecordingReply();
    const { reply } = await through(step, operation(LIST), first);
    expect(reply.reads).toBe(true);
    await reply.message(new ReplyMessage('response', RESPONSE));
    const shown = '{"jsonrpc":"2.0","id":1,"result":{"resources":[{"uri":"own:a"}]}}';
    expect(first.told).toEqual([shown]);
    const second = new RecordingReply();
    expect(await pass(step, operation({ ...LIST, id: 'b' }), second)).toBeUndefined();
    expect(second.told).toEqual(['head 200', shown.replace('"id":1', '"id":"b"'), 'end cached']);
  });

  test('is asked for again where none are kept', async () => {
    const { step, operation } = await scene(PLAIN, 0);
    for (let i = 0; i < 2; i++) {
      const { reply } = await through(step, operation(LIST));
      await reply.message(new ReplyMessage('response', RESPONSE));
    }
  });

  test('that was asked for elsewhere has it too, on any reply of the session and on its stream', async () => {
    const { step, operation } = await scene();
    for (const [message, kind] of [
      [{ id: 2, method: 'ping' }, 'unsolicited'],
      [undefined, 'response'],
    ] as const) {
      const own = new RecordingReply();
      const { reply } = await through(step, operation(message), own);
      await reply.message(new ReplyMessage(kind, RESPONSE));
      expect(own.told).toEqual(['{"jsonrpc":"2.0","id":1,"result":{"resources":[{"uri":"own:a"}]}}']);
    }
  });

  test('is kept no longer once the upstream says that it has changed, and the client hears that then', async () => {
    const { step, operation, generation } = await scene();
    const own = new RecordingReply();
    const { reply } = await through(step, operation({ id: 2, method: 'ping' }), own);
    await reply.message(notification('{"jsonrpc":"2.0","method":"notifications/progress"}'));
    expect(await generation()).toBe(0);
    const told = reply.message(notification(CHANGED));
    expect(own.told).toHaveLength(1);
    await told;
    expect([await generation(), own.told[1]]).toEqual([1, CHANGED]);
  });

  test('of a client without sessions is not kept; other answers to it are not looked at', async () => {
    const { step, operation } = await scene();
    const own = new RecordingReply();
    expect((await through(step, operation({ id: 1, method: 'ping' }, true), own)).reply).toBe(own);
    for (let i = 0; i < 2; i++) await through(step, operation(LIST, true));
  });
});
