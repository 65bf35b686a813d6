import { expect, test } from 'vitest';
import { luaFiles, luaMistakes, unusedFiles } from '../../../lib/redis/testing/lua-mistakes.ts';
import { LUA } from './lua-scripts.ts';

const FOLDER = new URL('lua/', import.meta.url);

test.each(luaFiles(FOLDER))('%s.lua is Lua, and every name in it is known, used and needed', (name) => {
  expect(luaMistakes(LUA, FOLDER, name)).toEqual([]);
});

test('each file is a script or needed by one', () => {
  expect(unusedFiles(FOLDER)).toEqual([]);
});
