import { describe, expect, it } from 'vitest';
import { AdapterConfig } from '../adapter-file/adapter.ts';
import { isSection, knownKeys, schemaAt } from './schema-at.ts';
import { parsePath, sample } from '../testing/adapter-config.ts';
import { valueAt } from '../../../lib/json/tree.ts';

const at = (path: string, document: unknown = sample()) => schemaAt(AdapterConfig, parsePath(path), document);

describe('schemaAt', () => {
  it.each([
    ['state_persistence.disk.wal', ['enabled']],
    ['servers[0].upstream.client_headers', ['required', 'passthrough', 'unsafe']],
    ['servers[7].tool_defaults', ['tool_call_timeout_seconds', 'allow_raw_output']],
    ['servers[0].adapters[1].output_locator', ['mode', 'output_path_key', 'output_path_regexes']],
  ])('finds the section %s through defaults, conversions and lists', (path, keys) => {
    expect(isSection(at(path))).toBe(true);
    expect(knownKeys(at(path))).toEqual(keys);
  });

  it('finds the whole file', () => {
    expect(knownKeys(schemaAt(AdapterConfig, [], {}))).toContain('servers');
  });

  it('chooses the kind of an entry by its type', () => {
    expect(knownKeys(at('servers[0].adapters[0]'))).toContain('file_path_argument');
    expect(knownKeys(at('servers[0].adapters[1]'))).toContain('output_locator');
    expect(knownKeys(at('servers[0].adapters[0]', { servers: [{ adapters: [{ type: 'other' }] }] }))).toEqual([]);
  });

  it.each([
    ['core.port', false],
    ['core.cleanup_interval_seconds', true],
    ['core.auth.token', true],
    ['servers[0].code_mode_enabled', true],
    ['telemetry.headers', false],
    ['telemetry.headers.x', false],
  ])('knows whether %s may be null', (path, nullable) => {
    expect(at(path)).toMatchObject({ nullable });
    expect(isSection(at(path))).toBe(false);
  });

  it.each(['nothing', 'core.nothing', 'core.port.nothing', 'constructor', 'core.toString', 'core.auth.__proto__'])(
    'knows no %s',
    (path) => {
      expect(at(path)).toBeUndefined();
      expect(knownKeys(at(path))).toEqual([]);
    },
  );
});

describe('valueAt', () => {
  it.each([
    ['a.b[1]', 2],
    ['a', { b: [1, 2] }],
    ['a.c', undefined],
    ['a.b[2]', undefined],
    ['a.b[0].c', undefined],
    ['constructor', undefined],
  ])('finds at %s: %j', (path, value) => {
    expect(valueAt({ a: { b: [1, 2] } }, parsePath(path))).toEqual(value);
  });
});
