import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { at, execute } from '../cluster/kubectl.ts';

const SCRIPT = join(import.meta.dirname, '../../scripts/plugin-release.ts');
const RELEASE_MS = 240_000;

test('a release is an archive that runs as krew unpacks it, and its manifest', { timeout: RELEASE_MS }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'plugin-release-test-'));
  try {
    const args = [SCRIPT, folder, 'https://files.test/plugin/', 'https://files.test/'];
    await execute(process.execPath, args, '', { timeoutMs: RELEASE_MS });
    const manifest: unknown = parse(await readFile(join(folder, 'mcpadapter.yaml'), 'utf8'));
    const [uri, sha256, bin] = ['uri', 'sha256', 'bin'].map((key) => String(at(manifest, 'spec', 'platforms', 0, key)));
    expect(uri).toMatch(/^https:\/\/files\.test\/plugin\/kubectl-mcpadapter-v\d+\.\d+\.\d+\.tar\.gz$/);
    const archive = join(folder, uri?.split('/').at(-1) ?? '');
    expect(sha256).toBe(
      createHash('sha256')
        .update(await readFile(archive))
        .digest('hex'),
    );

    // krew links a name in the PATH to the program; kubectl runs that with nothing else.
    await execute('tar', ['-xzf', archive, '-C', folder]);
    const link = join(folder, 'kubectl-mcpadapter');
    await symlink(join(folder, bin ?? ''), link);
    const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` };
    const version = await execute('env', ['-i', `PATH=${env.PATH}`, link, '--version']);
    expect(`v${version.trim()}`).toBe(at(manifest, 'spec', 'version'));
    expect(await execute('env', ['-i', `PATH=${env.PATH}`, link, 'status', '--print-role'])).toContain('kind: Role');
    expect(await execute('env', ['-i', `PATH=${env.PATH}`, link, 'suggest', '--help'])).toContain('suggest');
  } finally {
    await rm(folder, { recursive: true });
  }
});
