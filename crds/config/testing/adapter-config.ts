import type { AdapterConfig } from '../adapter-file/adapter.ts';
import { loadAdapterConfig } from '../load/load.ts';
import { ConfigError, type Problem } from '../load/problem.ts';
import type { Environment } from '../../../lib/references/reference.ts';
import { type Path, valueAt } from '../../../lib/json/tree.ts';

/** What the tests of configuration files share. */

/** A small valid configuration with an entry of each type. */
export function sample(): Record<string, unknown> {
  return {
    servers: [
      {
        id: 'files',
        mount_path: '/mcp',
        upstream: { url: 'http://files:8000/mcp' },
        adapters: [
          { type: 'upload_consumer', tools: ['read'], file_path_argument: 'path' },
          { type: 'artifact_producer', tools: ['write'] },
          {
            type: 'files',
            tools: ['sheet_*'],
            arguments: { path: 'edit' },
            found: [{ path_key: 'file', relative_to: '/data' }],
          },
        ],
      },
    ],
  };
}

/** `servers[0].upstream.url` → `['servers', 0, 'upstream', 'url']`. */
export function parsePath(path: string): Path {
  return [...path.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, index, key]) =>
    index === undefined ? (key ?? '') : Number(index),
  );
}

/** Sets a value in a document, and makes the mappings on the way to it. `undefined` removes it. */
export function put(document: object, path: string, value: unknown): void {
  const keys = parsePath(path);
  const last = keys.at(-1) ?? '';
  let node = document;
  for (const key of keys.slice(0, -1)) {
    const next: unknown = Reflect.get(node, key);
    const inner = typeof next === 'object' && next !== null ? next : {};
    Reflect.set(node, key, inner);
    node = inner;
  }
  if (value === undefined) Reflect.deleteProperty(node, last);
  else Reflect.set(node, last, value);
}

/** The sample with some values changed. */
export function sampleWith(values: Record<string, unknown>): Record<string, unknown> {
  const document = sample();
  for (const [path, value] of Object.entries(values)) put(document, path, value);
  return document;
}

/** What stands at a path, written as in messages. */
export const get = (document: unknown, path: string): unknown => valueAt(document, parsePath(path));

/** Loads a document; JSON is YAML. */
export function load(document: unknown, env: Environment = {}): AdapterConfig {
  return loadAdapterConfig(toYaml(document), env);
}

/** What is wrong with a file. */
export function problemsOf(text: string, env: Environment = {}): readonly Problem[] {
  try {
    loadAdapterConfig(text, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

/** JSON, with the numbers that JSON does not have. */
export function toYaml(document: unknown): string {
  const special = new Map([
    [Number.POSITIVE_INFINITY, '.inf'],
    [Number.NEGATIVE_INFINITY, '-.inf'],
  ]);
  const write = (value: unknown): string => {
    if (typeof value === 'number') return Number.isNaN(value) ? '.nan' : (special.get(value) ?? String(value));
    if (Array.isArray(value)) return `[${value.map(write).join(', ')}]`;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    const pairs = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${write(item)}`);
    return `{${pairs.join(', ')}}`;
  };
  return write(document);
}
