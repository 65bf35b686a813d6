import { vi } from 'vitest';
import { asObject, type JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import type { Door } from '../../kit/session.ts';
import type { Scene, SceneOptions } from '../kit/with-adapter.ts';

/** One value of a field, and what it does. */
export type Case = readonly [SceneOptions, (scene: Scene) => Promise<void>];
/** A test of what one field changes: first with one value of it, then with another. */
export type FieldTest = (path: string, ...cases: readonly Case[]) => void;

/** Where the two kinds of entries stand in the schema. */
export const CONSUMER = 'servers[0].adapters[0]';
export const PRODUCER = 'servers[0].adapters[1]';

/** Moves the clock of the adapter, which runs in this process. Timers go on as they are. */
export function later(seconds: number): void {
  const now = Date.now();
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(now + seconds * 1_000);
}

export const producer = (more: JsonObject): readonly JsonObject[] => [
  {
    type: 'artifact_producer',
    tools: ['write_file', 'write_elsewhere', 'embed', 'name_path', 'write_nothing'],
    ...more,
  },
];
export const consumer = (more: JsonObject): readonly JsonObject[] => [
  { type: 'upload_consumer', tools: ['read_file'], file_path_argument: 'path', ...more },
];
/** Tools are told where to write. */
export const injected = producer({ output_path_argument: 'output_path' });

export const write = (door: Door, size = 1_000, name = 'out.bin'): Promise<JsonObject> =>
  door.tool('write_file', { output_path: name, size });

export const isFailed = (message: JsonObject): boolean => asObject(message.result).isError === true;
