import { describe, expect, test } from 'vitest';

import { type Body, parseBody } from '../exchange/message.ts';
import { ownResource } from './resources.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';

const resources = {
  list: async () => [],
  owns: (uri: string) => uri.startsWith('own:'),
  read: async () => undefined,
};
const mount = sampleMount({}, { additions: { steps: new Map(), transforms: new Map(), own: [], resources } });

function body(text: string): Body {
  const parsed = parseBody(Buffer.from(text));
  if ('code' in parsed) throw new Error(parsed.detail);
  return parsed;
}
const request = (method: string, uri: string): string =>
  `{"jsonrpc":"2.0","id":5,"method":"${method}","params":{"uri":${uri}}}`;

describe('a request about a resource of the adapter', () => {
  test('is one whether there is such a resource or not', () => {
    const of = body(request('resources/read', '"own:a"'));
    expect(ownResource(mount, of)).toEqual({ request: of.messages[0], uri: 'own:a', resources });
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
