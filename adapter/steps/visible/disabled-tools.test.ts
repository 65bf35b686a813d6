import { expect, test } from 'vitest';

import { AdapterError } from '../../errors.ts';
import { sampleMount } from '../../gateway/testing/sample-mount.ts';
import { DisabledTools } from './disabled-tools.ts';
import { refusal, sampleOperation, through } from '../testing/step-scene.ts';

test('a disabled tool does not exist, however it is asked for', () => {
  const step = new DisabledTools(sampleMount({ disabled_tools: ['delete_.*'] }));
  const call = (name: unknown) => ({ kind: 'request', method: 'tools/call', params: { name }, idText: '1' }) as const;
  expect(() => step.check(call('delete_all'))).toThrow(new AdapterError('unknown_tool', 'Unknown tool: delete_all'));
  expect(() => step.check(call(['delete_all']))).toThrow('names no tool');
  expect(() => step.check(call(undefined))).toThrow('names no tool');
  expect(() => step.check(call('read'))).not.toThrow();
  expect(() => new DisabledTools(sampleMount()).check(call(undefined))).not.toThrow();
});

test('T10: a tool whose name has invisible characters does not exist while names are looked at', () => {
  const call = { kind: 'request', method: 'tools/call', params: { name: 're\u200Bad' }, idText: '1' } as const;
  const check = (server: Record<string, unknown>) => () => new DisabledTools(sampleMount(server)).check(call);
  expect(check({})).toThrow(expect.objectContaining({ code: 'unknown_tool' }));
  for (const sanitization of [{ mode: 'off' }, { remove_invisible_characters: false }]) {
    expect(check({ tool_metadata_sanitization: sanitization })).not.toThrow();
  }
});

test('a call of a disabled tool does not pass; in a batch each call has its own answer', async () => {
  const step = new DisabledTools(sampleMount({ disabled_tools: ['delete_.*'] }));
  const call = (name: string) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } });
  expect(await refusal(step, sampleOperation(call('delete_all')))).toMatchObject({ code: 'unknown_tool' });
  await through(step, sampleOperation(call('read')));
  await through(step, sampleOperation([call('delete_all')]));
});
