import { expect, test } from 'vitest';

import type { WatchEvent } from './kubernetes.ts';
import { MalformedEventError, parseWatchEvent, watchEvents } from './watch-stream.ts';

async function* chunksOf(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < bytes.length; i += size) yield bytes.subarray(i, i + size);
}
async function eventsOf(text: string, size = 7): Promise<WatchEvent[]> {
  const events: WatchEvent[] = [];
  for await (const event of watchEvents(chunksOf(Buffer.from(text), size))) events.push(event);
  return events;
}
const line = (name: string): string =>
  `${JSON.stringify({ type: 'ADDED', object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } } })}\n`;

test.each([1, 2, 3, 7, 50, 10_000])('events survive chunks of %i bytes', async (size) => {
  const events = await eventsOf(line('eins') + line('zwölf €') + line('🙂'), size);
  expect(events.map((event) => (event.type === 'ERROR' ? '' : event.object.metadata.name))).toEqual([
    'eins',
    'zwölf €',
    '🙂',
  ]);
});

test('an error event carries its code and message', async () => {
  const status = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version: 1 (7)' };
  expect(await eventsOf(`${JSON.stringify({ type: 'ERROR', object: status })}\n`)).toEqual([
    { type: 'ERROR', code: 410, message: 'too old resource version: 1 (7)' },
  ]);
});

test('empty lines say nothing', async () => {
  expect(await eventsOf(`\n\n${line('a')}\n`)).toHaveLength(1);
});

test.each([
  'no json',
  '{}',
  'null',
  '[]',
  '{"type":"ADDED"}',
  '{"type":"ADDED","object":{}}',
  '{"type":"NEW","object":{"metadata":{}}}',
])('the line %s is an error', (text) => {
  expect(() => parseWatchEvent(text)).toThrow(MalformedEventError);
});

test('events before a malformed line are still seen', async () => {
  const seen: string[] = [];
  await expect(async () => {
    for await (const event of watchEvents(chunksOf(Buffer.from(`${line('a')}{"type":`), 5))) seen.push(event.type);
  }).rejects.toThrow('ended within an event');
  expect(seen).toEqual(['ADDED']);
});
