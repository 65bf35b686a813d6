import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const root = new URL('../../', import.meta.url).pathname;

/** The generator writes beside its sources, so the tests run it in a copy of them. */
describe('node crds/generate/main.ts', { timeout: 60_000 }, () => {
  let folder = '';

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'generate-'));
    for (const part of ['lib', 'crds']) await cp(join(root, part), join(folder, part), { recursive: true });
    for (const target of ['helm/mcp-operator-crds/templates', 'helm/mcp-operator/templates/crds', 'docs/reference']) {
      await cp(join(root, target), join(folder, target), { recursive: true });
    }
    await cp(join(root, 'package.json'), join(folder, 'package.json'));
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  });

  afterAll(() => rm(folder, { recursive: true, force: true }));

  const generate = async (...args: string[]): Promise<{ code: number; stderr: string }> => {
    // What is compiled of the copy goes with it.
    const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, '.compiled') };
    const options = { cwd: folder, timeout: 30_000, env };
    try {
      const { stderr } = await run(process.execPath, ['crds/generate/main.ts', ...args], options);
      return { code: 0, stderr };
    } catch (error) {
      if (error instanceof Error && 'code' in error && 'stderr' in error) {
        return { code: Number(error.code), stderr: String(error.stderr) };
      }
      throw error;
    }
  };

  it('has been run since the schemas were last changed', async () => {
    expect(await generate('--check')).toEqual({ code: 0, stderr: '' });
  });

  it('names what differs and the command that helps, and then it does', async () => {
    const page = join(folder, 'docs/reference/adapter-configuration.md');
    const original = await readFile(page, 'utf8');
    await writeFile(page, original.replace('8932', '8933'));
    await rm(join(folder, 'crds/config/adapter.schema.json'));
    await rm(join(folder, 'helm'), { recursive: true });

    const { code, stderr } = await generate('--check');
    expect(code).toBe(1);
    expect(stderr.trim().split('\n')).toEqual([
      'crds/config/adapter.schema.json does not fit the schemas. Run: node crds/generate/main.ts',
      'docs/reference/adapter-configuration.md does not fit the schemas. Run: node crds/generate/main.ts',
      'helm/mcp-operator-crds/templates/mcpadapters.yaml does not fit the schemas. Run: node crds/generate/main.ts',
      'helm/mcp-operator/templates/crds/mcpadapters.yaml does not fit the schemas. Run: node crds/generate/main.ts',
      'helm/mcp-operator-crds/templates/apiscrapesources.yaml does not fit the schemas. Run: node crds/generate/main.ts',
      'helm/mcp-operator/templates/crds/apiscrapesources.yaml does not fit the schemas. Run: node crds/generate/main.ts',
      'helm/mcp-operator-crds/templates/mcptoollocks.yaml does not fit the schemas. Run: node crds/generate/main.ts',
      'helm/mcp-operator/templates/crds/mcptoollocks.yaml does not fit the schemas. Run: node crds/generate/main.ts',
    ]);
    expect(await readFile(page, 'utf8')).toContain('8933');

    expect(await generate()).toEqual({ code: 0, stderr: '' });
    expect(await readFile(page, 'utf8')).toBe(original);
    expect(await generate('--check')).toEqual({ code: 0, stderr: '' });
  });

  it('refuses options that it does not know', async () => {
    expect(await generate('--chek')).toMatchObject({ code: 2, stderr: expect.stringContaining('Usage:') });
  });
});
