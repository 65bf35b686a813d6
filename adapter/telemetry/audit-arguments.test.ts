import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { argumentsSha256 } from './audit-arguments.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

test('arguments are hashed as they came', () => {
  const call = (args: string): string => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"${args}}}`;
  expect(argumentsSha256(call(',"arguments": { "n" : 1.0, "t":"\\u00e9" }'))).toBe(
    sha256('{ "n" : 1.0, "t":"\\u00e9" }'),
  );
  expect(argumentsSha256(call(',"arguments":{"t":"é"}'))).toBe(sha256('{"t":"é"}'));
  expect(argumentsSha256(call(''))).toBeUndefined();
  const batch = `[${call(',"arguments":{"a":1}')},${call(',"arguments":{"a":2}')}]`;
  expect(argumentsSha256(batch, batch.lastIndexOf('{"jsonrpc"'))).toBe(sha256('{"a":2}'));
});
