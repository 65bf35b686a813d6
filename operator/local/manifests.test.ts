import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseManifests, readManifests } from './manifests.ts';

const adapter = (name: string): string =>
  `apiVersion: mcpadapter.io/v1alpha1\nkind: McpAdapter\nmetadata: {name: ${name}}\n`;
const parsed = (text: string) => parseManifests(text, 'a.yaml', 'ns');

describe('the resources of a text', () => {
  test('are its documents, each with its place', () => {
    const { manifests, problems } = parsed(`# first\n${adapter('a')}---\n\n${adapter('b')}spec:\n  replicas: 2\n`);
    expect(problems).toEqual([]);
    expect(manifests.map(({ object, line }) => [object.metadata.name, line])).toEqual([
      ['a', 1],
      ['b', 5],
    ]);
    expect(manifests[1]?.locate(['spec', 'replicas'])).toEqual({ line: 11, column: 3 });
    expect(manifests[1]?.locate(['spec', 'missing'])).toEqual({ line: 10, column: 1 });
  });

  test('may begin on the line of the dashes, and end with Windows line ends', () => {
    const { manifests, problems } = parsed(`--- {apiVersion: v1, kind: Secret, metadata: {name: s}}\r\n---\r\n`);
    expect(problems).toEqual([]);
    expect(manifests.map(({ object }) => object.kind)).toEqual(['Secret']);
    expect(manifests[0]?.locate(['metadata', 'name'])).toEqual({ line: 1, column: 47 });
  });

  test('may be the items of a list', () => {
    const list = {
      kind: 'List',
      apiVersion: 'v1',
      items: [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } }],
    };
    const { manifests } = parsed(JSON.stringify(list, undefined, 2));
    expect(manifests.map(({ object }) => object.metadata)).toEqual([{ name: 'x', namespace: 'ns' }]);
    expect(manifests[0]?.locate(['metadata', 'name'])?.line).toBe(9);
  });

  test.each([
    ['', []],
    ['# nothing\n---\n---\n', []],
    ['a: 1\n', ['a.yaml:1 is no Kubernetes resource: it needs apiVersion and kind']],
    ['- 1\n', ['a.yaml:1 is no Kubernetes resource']],
    ['---\nkind: X\napiVersion: v1\n', ['a.yaml:2 is a X without metadata.name']],
    [
      'kind: X\n---\n\n  bad: [\n',
      ['a.yaml:1 is no Kubernetes resource: it needs apiVersion and kind', 'a.yaml:5 YAML'],
    ],
    [
      `${adapter('a')}---\n${adapter('a')}`,
      ['a.yaml:4 McpAdapter a stands already in a.yaml:1; remove one of the two'],
    ],
  ])('%j has the problems %j', async (text, expected) => {
    const folder = await mkdtemp(join(tmpdir(), 'manifests-'));
    await writeFile(join(folder, 'a.yaml'), text);
    const { problems } = await readManifests([join(folder, 'a.yaml')], 'ns');
    await rm(folder, { recursive: true });
    const shown = problems.map(({ line, message }) => `a.yaml:${line} ${message.replaceAll(`${folder}/`, '')}`);
    expect(shown).toEqual(expected.map((line) => (line.endsWith('YAML') ? expect.stringContaining(line) : line)));
  });
});

describe('the resources of paths', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'manifests-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  test('are those of all files of a folder by name, but of no other files', async () => {
    await writeFile(join(folder, 'b.yml'), adapter('b'));
    await writeFile(join(folder, 'a.yaml'), adapter('a'));
    await writeFile(join(folder, 'c.ts'), 'export {}');
    const { manifests, problems } = await readManifests([folder], 'ns');
    expect(problems).toEqual([]);
    expect(manifests.map(({ object }) => object.metadata.name)).toEqual(['a', 'b']);
  });

  test('that do not exist are a problem', async () => {
    const { problems } = await readManifests([join(folder, 'absent.yaml')], 'ns');
    expect(problems).toMatchObject([{ file: join(folder, 'absent.yaml'), message: expect.stringContaining('ENOENT') }]);
  });
});
