import { expect, test } from 'vitest';

import { toolNamesIn } from './tool-list-of.ts';

test('the names stand in the order of the list, and what has none is no name', () => {
  const tools = [{ name: 'b' }, { name: 'a', inputSchema: { name: 'x' } }, { name: 7 }, {}, null, 'c'];
  expect(toolNamesIn(JSON.stringify({ tools }))).toEqual(['b', 'a', '', '', '', '']);
  expect(toolNamesIn('{}')).toEqual([]);
});
