import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

import { describe, expect, test } from 'vitest';

import type { Answer } from '../exchange/answer.ts';
import { type Body, parseBody } from '../exchange/message.ts';
import { sessionRecord } from '../sessions/testing/session-record.ts';
import { answerOwnResource, ownResource } from './resources.ts';
import { sampleMount } from './testing/sample-mount.ts';
import type { Turn } from './turn.ts';

const read: string[] = [];
const resources = {
  list: async () => [],
  owns: (uri: string) => uri.startsWith('own:'),
  read: async (_record: unknown, uri: string): Promise<Answer | undefined> => {
    read.push(uri);
    return uri === 'own:a' ? '{"contents":[]}' : undefined;
  },
};
const mount = sampleMount({}, { additions: { steps: new Map(), transforms: new Map(), own: [], resources } });

function body(text: string): Body {
  const parsed = parseBody(Buffer.from(text));
  if ('code' in parsed) throw new Error(parsed.detail);
  return parsed;
}
const request = (method: string, uri: string): string =>
  `{"jsonrpc":"2.0","id":5,"method":"${method}","params":{"uri":${uri}}}`;

async function answer(of: Body): Promise<string> {
  const reply = new ServerResponse(new IncomingMessage(new Socket()));
  const sent = Promise.withResolvers<string>();
  reply.end = ((text: string) => {
    sent.resolve(`${reply.statusCode} ${text}`);
    return reply;
  }) as typeof reply.end;
  const turn = {
    mount,
    incoming: { reply, facts: { requestId: 'r' } },
    admitted: { finished: () => undefined },
  } as unknown as Turn;
  const own = ownResource(mount, of);
  if (own === undefined) throw new Error('not ours');
  await answerOwnResource(turn, sessionRecord(), of, own);
  return sent.promise;
}

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
    await expect(answer(batch)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test.each([
    request('resources/read', '"other:a"'),
    request('resources/read', '["own:a"]'),
    request('tools/call', '"own:a"'),
    '{"jsonrpc":"2.0","id":1,"method":"resources/read"}',
    '{"jsonrpc":"2.0","method":"resources/read","params":{"uri":"own:a"}}',
  ])('is none: %s', (text) => {
    expect(ownResource(mount, body(text))).toBeUndefined();
  });

  test('is none where the adapter has no resources', () => {
    expect(ownResource(sampleMount(), body(request('resources/read', '"own:a"')))).toBeUndefined();
  });
});
