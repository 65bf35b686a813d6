import { describe, expect, test } from 'vitest';
import type { Discovery } from './discoveries.ts';
import { olderGreeting, takesSubscriptions, offeredChanges } from './older-greeting.ts';

const discovery = (capabilities: Record<string, unknown> = {}, more: Partial<Discovery> = {}): Discovery => ({
  capabilities,
  serverInfo: { name: 's', version: '1', title: 'T' },
  instructions: undefined,
  ...more,
});
const greeting = (requested: unknown, said: Discovery): unknown => JSON.parse(olderGreeting(requested, said));

describe('the answer to initialize', () => {
  test.for(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])('agrees to %s', (revision) => {
    expect(greeting(revision, discovery())).toEqual({
      protocolVersion: revision,
      capabilities: {},
      serverInfo: { name: 's', version: '1', title: 'T' },
    });
  });

  test.for(['2026-07-28', '1.0', undefined, 7, {}])('offers the latest with sessions for %j', (requested) => {
    expect(greeting(requested, discovery())).toMatchObject({ protocolVersion: '2025-11-25' });
  });

  test('says what is the same in both revisions', () => {
    const capabilities = {
      tools: { listChanged: true },
      prompts: {},
      resources: { subscribe: true },
      completions: {},
      logging: {},
      experimental: { x: 1 },
    };
    const extensions = { 'io.modelcontextprotocol/tasks': {}, 'io.modelcontextprotocol/ui': { y: 1 } };
    const said = { ...capabilities, tasks: {}, roots: {}, extensions };
    expect(greeting('2025-11-25', discovery(said))).toMatchObject({
      capabilities: { ...capabilities, extensions: { 'io.modelcontextprotocol/ui': { y: 1 } } },
    });
    const { capabilities: shown } = greeting('2025-11-25', discovery(said)) as { capabilities: object };
    expect(Object.keys(shown)).not.toContain('tasks');
  });

  test.for([undefined, null, 7, 'name', {}, { name: 7 }])('has a server that older clients can read: %j', (info) => {
    expect(greeting('2025-11-25', discovery({}, { serverInfo: info }))).toMatchObject({
      serverInfo: { name: 'unknown', version: '0' },
    });
  });

  test('passes instructions that are text', () => {
    expect(greeting('2025-11-25', discovery({}, { instructions: 'Do.' }))).toMatchObject({ instructions: 'Do.' });
    expect(greeting('2025-11-25', discovery({}, { instructions: { a: 1 } }))).not.toHaveProperty('instructions');
  });
});

test('what a server tells of its changes', () => {
  expect(
    offeredChanges(discovery({ tools: { listChanged: true }, prompts: { listChanged: 'yes' }, resources: true })),
  ).toEqual({
    toolsListChanged: true,
  });
  expect(takesSubscriptions(discovery({ resources: { subscribe: true } }))).toBe(true);
  expect(takesSubscriptions(discovery({ resources: {} }))).toBe(false);
});
