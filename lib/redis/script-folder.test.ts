import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ScriptFolder } from './script-folder.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'scripts-'));
  mkdirSync(join(folder, 'parts'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const put = (name: string, text: string): void => writeFileSync(join(folder, `${name}.lua`), text);
const scripts = (constants = {}): ScriptFolder => new ScriptFolder(pathToFileURL(`${folder}/`), constants);

test('a script is known by its hash', () => {
  put('one', 'return 1');
  const { source, sha1 } = scripts().script('one');
  expect({ source, sha1 }).toEqual({ source: 'return 1', sha1: 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db' });
});

test('what a script needs stands in front of it, once, and what that needs in front of that', () => {
  put('parts/a', '-- needs: MOST\nlocal a = MOST');
  put('parts/b', '-- needs: parts/a, FIELDS, WORD\nlocal b = a');
  put('all', '-- needs: parts/b\n-- needs: parts/a\nreturn a + b');
  const constants = { MOST: 400 * 86_400_000, FIELDS: ['x', 'y'], WORD: 'w', OTHER: 1 };
  expect(scripts(constants).source('all').split('\n')).toEqual([
    'local MOST = 34560000000',
    '-- needs: MOST',
    'local a = MOST',
    "local FIELDS = { 'x', 'y' }",
    "local WORD = 'w'",
    '-- needs: parts/a, FIELDS, WORD',
    'local b = a',
    '-- needs: parts/b',
    '-- needs: parts/a',
    'return a + b',
  ]);
});

test('files are read when the scripts are loaded, and not again', () => {
  put('one', 'return 1');
  const all = scripts();
  const script = all.script('one');
  put('one', 'return 2');
  all.load();
  rmSync(join(folder, 'one.lua'));
  expect(script.source).toBe('return 2');
});

test('a script that is missing, or needs what there is not, is found when they are loaded', () => {
  put('one', '-- needs: TWO\nreturn TWO');
  const missing = scripts();
  missing.script('none');
  expect(() => missing.load()).toThrow('none.lua');
  const incomplete = scripts({ ONE: 1 });
  incomplete.script('one');
  expect(() => incomplete.load()).toThrow('TWO.lua');
});

test('a constant that would need quoting is refused', () => {
  put('one', '-- needs: TEXT\nreturn TEXT');
  expect(() => scripts({ TEXT: "it's" }).source('one')).toThrow("not a word: it's");
});
