import { expect, test } from 'vitest';

import { sessionRecord } from '../sessions/testing/session-record.ts';
import { joinedResources, WORKFLOW_URI, workflowResource } from './workflow-resource.ts';

const record = sessionRecord();
const workflow = workflowResource('# Übung "1"\n');

test('the page on uploads is listed and read', async () => {
  expect((await workflow.list(record)).map((text) => JSON.parse(text) as unknown)).toEqual([
    expect.objectContaining({ uri: 'doc://upload_workflow.md', mimeType: 'text/markdown', size: 13 }),
  ]);
  expect(JSON.parse((await workflow.read(record, WORKFLOW_URI)) as string)).toEqual({
    contents: [{ uri: 'doc://upload_workflow.md', mimeType: 'text/markdown', text: '# Übung "1"\n' }],
  });
});

test('resources of several kinds are one list, and each is read where it is known', async () => {
  const other = { list: async () => ['{"uri":"x"}'], owns: (uri: string) => uri === 'x', read: async () => undefined };
  const joined = joinedResources([workflow, other]);
  expect(await joined?.list(record)).toHaveLength(2);
  expect([WORKFLOW_URI, 'x', 'doc://other'].map((uri) => joined?.owns(uri))).toEqual([true, true, false]);
  expect(await joined?.read(record, WORKFLOW_URI)).toContain('contents');
  expect(await joined?.read(record, 'x')).toBeUndefined();
  expect(joinedResources([other])).toBe(other);
  expect(joinedResources([])).toBeUndefined();
});
