import { expect, test } from 'vitest';
import { type Row, table } from './table.ts';

const row: Row = {
  kind: 'McpAdapter',
  name: 'demo',
  ready: 'True',
  upstreams: '1/1',
  restarts: 0,
  url: 'http://x',
  message: '',
};

test('the table has a column for each thing, as wide as its widest cell', () => {
  expect(
    table([row, { ...row, name: 'a-longer-name', ready: 'False', message: 'ended (exit code 1)' }]).split('\n'),
  ).toEqual([
    'KIND         NAME            READY   UPSTREAMS   RESTARTS   URL        MESSAGE',
    'McpAdapter   demo            True    1/1         0          http://x',
    'McpAdapter   a-longer-name   False   1/1         0          http://x   ended (exit code 1)',
  ]);
});
