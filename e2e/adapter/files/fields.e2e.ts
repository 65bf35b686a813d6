import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { AdapterConfig } from '../../../crds/config/adapter-file/adapter.ts';
import { leaves } from '../../../crds/config/testing/schema-leaves.ts';
import { inputSchema } from '../../../crds/generate/json-schema.ts';
import { artifactsFields } from './fields/artifacts.ts';
import { consumersFields } from './fields/consumers.ts';
import type { FieldTest } from './fields/field-test.ts';
import { producersFields } from './fields/producers.ts';
import { storageFields } from './fields/storage.ts';
import { uploadsFields } from './fields/uploads.ts';
import { Scenes } from './kit/with-adapter.ts';

const FLOW = 'e2e/adapter/roles/flow.e2e.ts';
/** Fields whose effect another test shows: the file, and the title of a test or of its group. */
const ELSEWHERE: Record<string, readonly [file: string, title: string]> = {
  'artifacts.scope': ['e2e/adapter/results/scope.e2e.ts', 'artifacts.scope: %s'],
  'servers[0].adapters[0].accept': ['e2e/adapter/files/data-uris.e2e.ts', 'is told what is wrong with one'],
  'servers[0].adapters[2].type': [FLOW, 'what one has made another reads and makes something of'],
  'servers[0].adapters[2].tools': [FLOW, 'tools say in their descriptions what their arguments take'],
  'servers[0].adapters[2].arguments': [FLOW, 'all files of a folder become artifacts, as many as are allowed'],
  'servers[0].adapters[2].found[0].pattern': [
    FLOW,
    'become artifacts, are named by their handles, and leave the folder',
  ],
  'servers[0].adapters[2].found[0].path_key': [FLOW, 'are found at a key of the structured content'],
  'servers[0].adapters[2].found[0].relative_to': [FLOW, 'are not taken when they are not'],
  'servers[0].adapters[2].found[0].take': [FLOW, 'stay where the entry says so'],
  'storage.s3': ['e2e/adapter/files/s3.heavy.ts', 'a tool of any replica gets an upload as a URL that it can read'],
  'uploads.page_url_ttl_seconds': [
    'e2e/adapter/files/upload-page.heavy.ts',
    'has expired: the page says so, and so does one that is open',
  ],
};

/** Every field of sections 2.4, 2.6, 2.7 and of the entries in 2.8 changes something that a user sees. */
const SECTIONS = /^(storage|uploads|artifacts|servers\[0\]\.adapters\[\d\])\./;

const shown = new Set<string>();
let scenes: Scenes;
beforeAll(async () => {
  scenes = await Scenes.open();
});
afterAll(() => scenes?.[Symbol.asyncDispose]());
afterEach(() => void vi.useRealTimers());

const field: FieldTest = (path, ...cases) => {
  shown.add(path);
  test(path, async () => {
    for (const [options, play] of cases) await scenes.play(options, play);
  });
};

describe('a field', () => {
  storageFields(field);
  uploadsFields(field);
  artifactsFields(field);
  consumersFields(field);
  producersFields(field);
});

test('every field about files has a test', async () => {
  const all = leaves(inputSchema(AdapterConfig)).map(({ path }) => path);
  const about = all.filter((path) => SECTIONS.test(path));
  expect([...shown, ...Object.keys(ELSEWHERE)].toSorted()).toEqual(about.toSorted());
  for (const [file, title] of Object.values(ELSEWHERE)) {
    expect([file, await readFile(join(import.meta.dirname, '../../..', file), 'utf8')]).toEqual([
      file,
      expect.stringContaining(title),
    ]);
  }
});
