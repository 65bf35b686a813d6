import { describe, expect, test } from 'vitest';

import { effectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import { load } from '../../crds/config/testing/adapter-config.ts';
import { disabledTools } from '../catalog/disabled-tools.ts';
import { sessionRecord } from '../sessions/testing/session-record.ts';
import { type AdditionDeps, mountAdditions } from './additions.ts';
import type { MountAdditions } from './create-mount.ts';
import type { OwnResources } from '../lists/own-resources.ts';
import type { ToolStep } from '../tools/visible/tool-step.ts';
import type { UploadUrlTool } from '../uploads/upload-url-tool.ts';

const step = (): ToolStep => ({
  needsHome: false,
  prepare: () => Promise.reject(new Error('not called')),
});
const helper: UploadUrlTool = {
  name: 's1_get_upload_url',
  definition: '{"name":"s1_get_upload_url"}',
  step: step(),
  workflow: '# Upload',
  offer: () => Promise.reject(new Error('not called')),
  isOpen: () => Promise.reject(new Error('not called')),
};
const artifacts: OwnResources = { list: async () => ['{}'], owns: (uri) => uri === 'a', read: async () => '{}' };

interface Added extends MountAdditions {
  /** For each step that was made: its entry's first tool, and whether it knew of the helper. */
  readonly made: [string, boolean?][];
}

function additions(server: Record<string, unknown>, changes: Partial<AdditionDeps> = {}): Added {
  const upstream = { url: 'http://upstream:1/mcp' };
  const config = load({ servers: [{ id: 's1', mount_path: '/s1', upstream, ...server }] });
  const [first] = config.servers;
  if (first === undefined) throw new Error('no server');
  const made: [string, boolean?][] = [];
  const effective = effectiveServer(config, first);
  const added = mountAdditions(effective, {
    disabled: disabledTools(effective.disabled_tools),
    uploadUrl: helper,
    uriScheme: 'upload://',
    consumer: (entry, known) => {
      made.push([String(entry.tools[0]), known !== undefined]);
      return step();
    },
    producer: (entry) => {
      made.push([String(entry.tools[0])]);
      return entry.persist ? step() : undefined;
    },
    artifacts: () => artifacts,
    ...changes,
  });
  return { ...added, made };
}

const consumer = (...tools: string[]): object => ({ type: 'upload_consumer', tools, file_path_argument: 'a.b' });
const producer = (...tools: string[]): object => ({
  type: 'artifact_producer',
  tools,
  output_locator: { mode: 'embedded' },
});

describe('what the adapter adds to a server', () => {
  test('is a step for each tool that an entry names, the first that does', () => {
    const added = additions({ adapters: [consumer('a', 'b'), producer('b', 'c'), producer('c')] });
    expect([...added.steps.keys()]).toEqual(['a', 'b', 'c', 's1_get_upload_url']);
    expect(added.steps.get('a')).toBe(added.steps.get('b'));
    expect(added.made).toEqual([['a', true], ['b']]);
    expect([...added.transforms.keys()]).toEqual(['a', 'b']);
    expect(added.transforms.get('a')?.('{"name":"a"}')).toContain('`a.b`');
  });

  test('is the tool that tells where to upload, with its page', async () => {
    const added = additions({});
    expect(added.own).toEqual([{ name: helper.name, definition: helper.definition, wish: { method: 'files/upload' } }]);
    expect(added.steps.get(helper.name)).toBe(helper.step);
    expect(await added.resources?.list(sessionRecord())).toHaveLength(1);
    expect(['doc://upload_workflow.md', 'a'].map((uri) => added.resources?.owns(uri))).toEqual([true, false]);
  });

  test('is neither where it is disabled', () => {
    const added = additions({ disabled_tools: ['s1_.*'], adapters: [consumer('a')] });
    expect(added).toMatchObject({ own: [], resources: undefined, made: [['a', false]] });
    expect([...added.steps.keys()]).toEqual(['a']);
    expect(added.transforms.get('a')?.('{"name":"a"}')).not.toContain('s1_get_upload_url');
  });

  test('is only what refuses calls while uploads are off', () => {
    const added = additions({ adapters: [consumer('a')] }, { uploadUrl: undefined });
    expect(added).toMatchObject({ own: [], resources: undefined });
    expect([[...added.steps.keys()], [...added.transforms.keys()]]).toEqual([['a'], []]);
  });

  test('are artifacts where there is a producer that keeps some', async () => {
    const added = additions({ adapters: [producer('a')] });
    expect(['doc://upload_workflow.md', 'a'].map((uri) => added.resources?.owns(uri))).toEqual([true, true]);
    const persist = { ...producer('a'), persist: false };
    const none = additions({ adapters: [persist] }, { uploadUrl: undefined });
    expect(none).toMatchObject({ resources: undefined });
    expect(none.steps.size).toBe(0);
  });

  test('is as short as the server wants it', () => {
    const tool = '{"name":"a","description":"One two three."}';
    const server = { shorten_descriptions: true, short_description_max_tokens: 2, adapters: [consumer('a')] };
    expect(additions(server).transforms.get('a')?.(tool)).toContain('"One two...');
    expect(additions({ adapters: [consumer('a')] }).transforms.get('a')?.(tool)).toContain('"One two three.');
  });
});
