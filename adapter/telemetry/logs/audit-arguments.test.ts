import { expect, test } from 'vitest';
import { argumentsText } from './audit-arguments.ts';

test('arguments are taken as they came', () => {
  const call = (args: string): string => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"${args}}}`;
  expect(argumentsText(call(',"arguments": { "n" : 1.0, "t":"\\u00e9" }'))).toBe('{ "n" : 1.0, "t":"\\u00e9" }');
  expect(argumentsText(call(',"arguments":{"t":"é"}'))).toBe('{"t":"é"}');
  expect(argumentsText(call(''))).toBeUndefined();
  const batch = `[${call(',"arguments":{"a":1}')},${call(',"arguments":{"a":2}')}]`;
  expect(argumentsText(batch, batch.lastIndexOf('{"jsonrpc"'))).toBe('{"a":2}');
});
