import { expect, test } from 'vitest';

import type { FetchedServer } from '../lock/lock-command.ts';
import { AdminLock } from './admin-lock.ts';

const LOCK = {
  apiVersion: 'mcpadapter.io/v1alpha1',
  kind: 'McpToolLock',
  metadata: { name: 'a' },
  spec: { adapterRef: { name: 'a' } },
};
const none = { prompts: [], resourceTemplates: [], instructions: undefined };
const listing = (server: string, description = ''): FetchedServer => ({
  server,
  lists: { ...none, tools: [JSON.stringify({ name: server, description })] },
});

function asking(ids: readonly string[], fetch: (server: string, timeoutMs: number) => FetchedServer) {
  let now = 0;
  const asked: [string, number][] = [];
  const lock = new AdminLock<{ readonly serverId: string }>({
    mounts: ids.map((serverId) => ({ serverId })),
    fetch: async ({ serverId }, timeoutMs) => {
      asked.push([serverId, timeoutMs]);
      return fetch(serverId, timeoutMs);
    },
    secrets: { hide: (text) => text, areIn: () => false },
    version: '1',
    now: () => now,
  });
  const answer = (body: object) =>
    lock.answer({ body: Buffer.from(JSON.stringify({ lock: LOCK, ...body })), contentType: 'application/json' });
  return { answer, asked, later: (ms: number) => (now += ms) };
}

test('asks the servers that are meant, and the lock has these', async () => {
  const { answer, asked } = asking(['a', 'b', 'c'], (server) => listing(server));
  const { text, exitCode } = await answer({ action: 'create', servers: ['b'] });
  expect(asked).toEqual([['b', 10_000]]);
  expect([exitCode, text]).toEqual([0, expect.stringMatching(/^ {2}servers:\n {4}b:\n/m)]);
  await expect(answer({ action: 'create', servers: ['d'] })).rejects.toThrow('No server has the id d');
  await expect(answer({ action: 'create', servers: 'b' })).rejects.toThrow('servers must be a list of texts');
  await expect(answer({ action: 'approve', names: [1] })).rejects.toThrow('names must be a list of texts');
  await expect(answer({ action: 'diff', lock: { ...LOCK, kind: 'Secret' } })).rejects.toThrow('must be a McpToolLock');
});

test('for whom no time is left is not asked, and is told', async () => {
  const ids = Array.from({ length: 20 }, (_, index) => `s${index}`);
  const { answer, asked, later } = asking(ids, (server) => {
    later(2_000);
    return { server, failure: 'not reached' };
  });
  const { notes, exitCode } = await answer({ action: 'diff' });
  expect([exitCode, notes.length]).toEqual([3, 20]);
  expect(asked.map(([, ms]) => ms)).toEqual([...Array<number>(5).fill(10_000), 8_000, 6_000, 4_000, 2_000]);
  expect(notes.filter((note) => note.includes('no time left'))).toHaveLength(11);
});

test('more definitions than can be compared beside calls are left out, and told', async () => {
  const { answer } = asking(['a', 'b', 'c'], (server) => listing(server, 'x'.repeat(server === 'b' ? 16 << 20 : 10)));
  const { notes, text, exitCode } = await answer({ action: 'create' });
  expect([exitCode, notes]).toEqual([
    3,
    ['b did not say what it has: all definitions together are too long; ask for it alone'],
  ]);
  expect(text).toMatch(/^ {4}c:/m);
});
