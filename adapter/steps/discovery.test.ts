import { describe, expect, test } from 'vitest';

import { sampleMount } from '../gateway/testing/sample-mount.ts';
import { noWorkspace } from '../sessions/workspace-record.ts';
import { ReplyMessage } from '../path/reply-message.ts';
import { Discovery } from './discovery.ts';
import { RecordingReply, sampleClient, sampleOperation, through } from './testing/step-scene.ts';

const OFF = { tool_metadata_sanitization: { mode: 'off' }, tool_definition_pinning: { mode: 'off' } };
const ANSWER = '{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":[],"capabilities":{}}}';
const resources = { list: async () => [], owns: () => false, read: async () => undefined };

async function told(server: Record<string, unknown>, method: string, withResources: boolean) {
  const additions = {
    steps: new Map(),
    transforms: new Map(),
    own: [],
    resources: withResources ? resources : undefined,
  };
  const mount = sampleMount(server, { additions });
  const operation = sampleOperation({ id: 1, method }, { isSessionless: true });
  operation.record = noWorkspace('s1', '', 0);
  const own = new RecordingReply();
  const { reply } = await through(new Discovery(mount, sampleClient(mount)), operation, own);
  await reply.message(new ReplyMessage('response', ANSWER));
  return { isSame: reply === own, told: own.told };
}

describe('what a server says of itself', () => {
  test('names what the adapter adds to it', async () => {
    expect(await told(OFF, 'server/discover', true)).toEqual({
      isSame: false,
      told: [ANSWER.replace('"capabilities":{}', '"capabilities":{"resources":{}}')],
    });
  });

  test('is cleaned as all that models read', async () => {
    const { isSame, told: out } = await told({}, 'server/discover', false);
    expect([isSame, out]).toEqual([false, [ANSWER]]);
  });

  test.each([
    [OFF, 'server/discover', false],
    [{}, 'ping', true],
  ])('passes where nothing is to be said: %j %s', async (server, method, withResources) => {
    expect(await told(server, method, withResources)).toEqual({ isSame: true, told: [ANSWER] });
  });
});
