import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const MODULE = fileURLToPath(new URL('worker-environment.ts', import.meta.url));
const SCRIPT = `const { workerEnvironment } = await import(process.argv[1]); console.log(JSON.stringify(workerEnvironment()))`;

const inProcess = (env: NodeJS.ProcessEnv): unknown =>
  JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '--eval', SCRIPT, MODULE], { env, encoding: 'utf8' }),
  );

test('a thread sees no variable of its process', () => {
  expect(inProcess({ SECRET: 'abc' })).toEqual({});
});

test('a thread finds what its process has compiled', () => {
  const folder = mkdtempSync(join(tmpdir(), 'compiled-'));
  try {
    expect(inProcess({ SECRET: 'abc', NODE_COMPILE_CACHE: folder })).toEqual({ NODE_COMPILE_CACHE: folder });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
