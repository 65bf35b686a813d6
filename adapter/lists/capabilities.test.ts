import { expect, test } from 'vitest';

import { withCapabilities } from './capabilities.ts';

const answer = (capabilities: string): string =>
  `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25", "capabilities" : ${capabilities},"x":1.0}}`;
const both = { tools: true, resources: 'changing' } as const;

test.each([
  ['{}', '{"tools":{},"resources":{"listChanged":true}}'],
  ['{ "prompts":{} }', '{"tools":{},"resources":{"listChanged":true}, "prompts":{} }'],
  ['{"tools":{"listChanged":false}}', '{"resources":{"listChanged":true},"tools":{"listChanged":false}}'],
  ['{"resources":{}}', '{"tools":{},"resources":{"listChanged":true}}'],
  ['{"resources":{"subscribe":true},"tools":{}}', '{"resources":{"listChanged":true,"subscribe":true},"tools":{}}'],
  ['{"resources":{"listChanged": false },"tools":{}}', '{"resources":{"listChanged": true },"tools":{}}'],
  ['{"resources":null,"tools":{}}', '{"resources":null,"tools":{}}'],
])('clients hear of tools and resources beside %s', (upstream, expected) => {
  expect(withCapabilities(answer(upstream), both)).toBe(answer(expected));
});

test('nothing is added that is not there, and nothing to what is no answer', () => {
  expect(withCapabilities(answer('{}'), { tools: false, resources: false })).toBe(answer('{}'));
  expect(withCapabilities(answer('{}'), { tools: true, resources: false })).toBe(answer('{"tools":{}}'));
  const quiet = { tools: true, resources: true };
  expect(withCapabilities(answer('{}'), quiet)).toBe(answer('{"tools":{},"resources":{}}'));
  expect(withCapabilities(answer('{"tools":{},"resources":{"x":1}}'), quiet)).toBe(
    answer('{"tools":{},"resources":{"x":1}}'),
  );
  for (const text of [answer('null'), '{"id":1,"error":{"code":1}}', '{"result":null}', '[]']) {
    expect(withCapabilities(text, both)).toBe(text);
  }
});
