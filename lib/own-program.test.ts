import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ownProgram } from './own-program.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'own-program-'));
});
afterEach(() => rmSync(root, { recursive: true }));

function has(...files: readonly string[]): void {
  for (const file of files) {
    mkdirSync(join(root, file, '..'), { recursive: true });
    writeFileSync(join(root, file), '');
  }
}

const found = (name: string, module: string): string => ownProgram(name, pathToFileURL(join(root, module)).href);

test.each([
  ['sources', 'adapter/main', 'operator/plugin/commands/offline.ts', 'adapter/main.ts'],
  ['a build', 'adapter/main', 'dist/operator/offline-x.js', 'dist/adapter/main.js'],
  ['a thread of the sources', 'task-worker', 'operator/tasks/runner.ts', 'operator/task-worker.ts'],
  ['a thread of a build', 'task-worker', 'dist/operator/app-x.js', 'dist/operator/task-worker.js'],
  ['sources beside a build', 'examples/demo', 'dist/operator/local-x.js', 'examples/demo.ts'],
])('is the nearest one: %s', (_where, name, module, program) => {
  has(module, program, `${name}.ts`);
  expect(found(name, module)).toBe(join(root, program));
});

test('that is missing is an error', () => {
  has('operator/main.ts');
  expect(() => found('adapter/main', 'operator/main.ts')).toThrow('the program adapter/main is missing');
});
