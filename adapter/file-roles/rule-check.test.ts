import { expect, test } from 'vitest';

import { AdapterEntry } from '../../crds/config/adapter-file/entry.ts';
import { RecordingTelemetry } from '../telemetry/testing/recording-telemetry.ts';
import { FileRulesWatch } from './file-rules-watch.ts';
import { unmatchedRules } from './rule-check.ts';

const entries = [
  { type: 'upload_consumer', tools: ['read', 'raed'], file_path_argument: 'a.path' },
  { type: 'artifact_producer', tools: ['shot'], output_path_argument: 'filname' },
  { type: 'files', tools: ['sheet_*'], arguments: { path: 'edit', 'rows[].file': 'in', image: 'in' } },
  { type: 'files', tools: ['*_none'], arguments: { path: 'edit' } },
].map((entry) => AdapterEntry.parse(entry));
const properties = (...names: string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
});
const list = JSON.stringify({
  tools: [
    { name: 'read', inputSchema: { type: 'object', properties: { a: properties('path') } } },
    { name: 'shot', inputSchema: properties('filename') },
    { name: 'sheet_read', inputSchema: properties('path') },
    {
      name: 'sheet_write',
      inputSchema: { type: 'object', properties: { path: {}, rows: { type: 'array', items: properties('file') } } },
    },
    { name: 7 },
    { name: 'no_schema' },
  ],
});

test('tools that are not listed and arguments that no tool has are told, with their entry', () => {
  expect(unmatchedRules(entries, list).map(({ entry, reason, message }) => `${entry} ${reason} ${message}`)).toEqual([
    '0 no_tool adapters[0]: the server has no tool "raed"',
    '1 no_argument adapters[1]: the tool shot has no argument "filname"',
    '2 no_argument adapters[2]: none of its tools has an argument "image"',
    '3 no_tool adapters[3]: the server has no tool "*_none"',
  ]);
  expect(unmatchedRules(entries, '{"tools":[]}')).toHaveLength(5);
  expect(unmatchedRules(entries, '{}')).toHaveLength(5);
});

test('each is logged and counted once, and comes and goes with the list', () => {
  const told: string[] = [];
  const telemetry = new RecordingTelemetry();
  const watch = new FileRulesWatch({ serverId: 's', entries, telemetry, warn: (message) => told.push(message) });
  watch.listed(list);
  watch.listed(list);
  expect(told).toHaveLength(4);
  expect(watch.unmatched).toHaveLength(4);
  watch.listed('{"tools":[]}');
  expect(told).toHaveLength(4 + 3);
});

test('of files that were not taken the last ones are kept, one for each tool', () => {
  const told: string[] = [];
  const telemetry = new RecordingTelemetry();
  const watch = new FileRulesWatch({ serverId: 's', entries: [], telemetry, warn: (message) => told.push(message) });
  for (let number = 0; number < 20; number += 1) {
    watch.notTaken(`tool-${number % 12}`, { seen: 'x'.repeat(5_000), folder: '/data', reason: 'older' });
  }
  expect(told).toHaveLength(20);
  expect(watch.filesNotTaken).toHaveLength(10);
  expect(watch.filesNotTaken.at(-1)).toMatch(/^tool-7 named "x{200}…", which was not taken from \/data: older$/);
});
