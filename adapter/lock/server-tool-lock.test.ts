import { expect, test } from 'vitest';

import { LockDocument } from '../../crds/config/lock-file/lock-document.ts';
import { LockWatch } from './lock-watch.ts';
import { makeLock } from './make-lock.ts';
import type { ServerLists } from './server-lists.ts';
import { ServerToolLock } from './server-tool-lock.ts';
import { ToolLock } from './tool-lock.ts';
import { sampleCaches } from '../testing/sample-caches.ts';

const lists = (description: string): ServerLists => ({
  tools: [JSON.stringify({ name: 'a', description })],
  prompts: [],
  resourceTemplates: [],
  instructions: JSON.stringify(description),
});
const locked = (description: string): LockDocument =>
  LockDocument.parse({ servers: { up: makeLock(lists(description)).lock } });
const listOf = ({ tools }: ServerLists): string => `[${tools.join(',')}]`;

function locking(document: LockDocument) {
  const lock = new ToolLock(document);
  const watch = new LockWatch({ onDrift: () => undefined, allowsNew: () => false });
  return { lock, watch, server: new ServerToolLock(lock, 'up', { caches: sampleCaches(), watch }) };
}

test('what a server said last is compared with the next lock, before anybody lists', async () => {
  const { lock, watch, server } = locking(locked('before'));
  const now = lists('after');
  // It comes once more than it is compared, and another list was seen in between.
  await server.list('tools', listOf(now));
  await server.list('tools', '[]');
  server.saw('tools', await server.list('tools', listOf(now)));
  expect(server.allowsInstructions(now.instructions)).toBe(false);
  expect(watch.report.drift).toMatchObject([
    { kind: 'tools', name: 'a', fields: ['description'] },
    { kind: 'instructions' },
  ]);

  lock.replace(locked('after'));
  await server.recompare();
  expect(watch.report).toMatchObject({ drift: [], new: [], removed: [], compared_at: expect.any(Number) });

  lock.replace(locked('other'));
  await server.recompare();
  expect(watch.report.drift).toHaveLength(2);
});

test('of a server that has said nothing yet nothing is known under the next lock either', async () => {
  const { lock, watch, server } = locking(locked('before'));
  lock.replace(locked('after'));
  await server.recompare();
  expect(watch.report).toMatchObject({ removed: [], compared_at: null });
});

test('a page is not kept for the whole list, and a list of 2 MB and more is not kept', async () => {
  const { lock, watch, server } = locking(locked('before'));
  await server.list('tools', listOf(lists('after')), false);
  await server.list('prompts', `[{"name":"p","description":"${'x'.repeat(2 << 20)}"}]`);
  expect(watch.report.new).toHaveLength(1);
  lock.replace(locked('other'));
  await server.recompare();
  expect(watch.report).toMatchObject({ drift: [], new: [], compared_at: null });
});
