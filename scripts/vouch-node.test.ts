import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';

const SCRIPT = join(import.meta.dirname, 'vouch-node.sh');
const lines = readFileSync(join(import.meta.dirname, 'node-binaries'), 'utf8')
  .trimEnd()
  .split('\n');

describe('T24: the package that brings Node', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'vouch-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** As npm leaves it behind. */
  function run(name: string, integrity: string): { status: number | null; stderr: string; isThere: boolean } {
    const inner = join(folder, 'node_modules/node/node_modules');
    mkdirSync(join(inner, name), { recursive: true });
    const packages = { [`node_modules/${name}`]: { version: '24.0.0', integrity } };
    writeFileSync(join(inner, '.package-lock.json'), JSON.stringify({ packages }, null, 2));
    const { status, stderr } = spawnSync('sh', [SCRIPT], { cwd: folder, encoding: 'utf8' });
    return { status, stderr, isThere: existsSync(join(folder, 'node_modules/node')) };
  }

  test.each(lines)('is what the list says: %s', (line) => {
    const [name = '', integrity = ''] = line.split(/@[\d.]+ /);
    expect(run(name, integrity)).toEqual({ status: 0, stderr: '', isThere: true });
    const other = run(name, `sha512-${'A'.repeat(86)}==`);
    expect(other).toMatchObject({ status: 1, isThere: false });
    expect(other.stderr).toContain(`is not the ${name}@`);
  });

  test('is told where the list does not know it', () => {
    const told = run('node-plan9-x64', 'sha512-x');
    expect(told).toMatchObject({ status: 0, isThere: true });
    expect(told.stderr).toContain('does not know the package');
  });

  test('is listed for the systems of the image and CI, in the version that is installed', () => {
    const file = readFileSync(join(import.meta.dirname, '../package.json'), 'utf8');
    const { devDependencies } = z.object({ devDependencies: z.object({ node: z.string() }) }).parse(JSON.parse(file));
    expect(lines.map((line) => line.split(' ')[0])).toEqual(
      ['x64', 'arm64'].map((cpu) => `node-linux-${cpu}@${devDependencies.node}`),
    );
    for (const line of lines) expect(line).toMatch(/ sha512-[\w+/]{86}==$/);
  });
});
