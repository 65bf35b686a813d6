import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { compileFingerprint } from './fingerprint.ts';
import { parseJson } from './json-body.ts';

/** Facts 15.1. */
const record = parseJson(
  '{"id":7,"user":{"login":"zoë"},"v":1.0,"big":12345678901234567890,"e":1e-7,"n":null,"b":true,"l":[3,"a"]}',
  { exact: true },
);

const FULL = '3daafb39158fbe26b0dedeaf40f48ee3c5a00bc5e5f90a8966f2bbd1d6a26a5e';
const ID_AND_LOGIN = 'bccea90b3e69728719c6ef6ea2e00d18601e08689f45c42d2d6c6340319a63d5';
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

const byKeys = (fingerprintKeys: string[]): string =>
  compileFingerprint('src-a', { fingerprintMode: 'keys', fingerprintKeys })(record);

describe('a fingerprint', () => {
  test.each<[string[], string]>([
    [['id', 'user.login'], ID_AND_LOGIN],
    [['user.login', 'id'], ID_AND_LOGIN],
    [['id', 'user.login', 'id'], ID_AND_LOGIN],
    [['missing'], '02729eb920e331451d51790802db6c3b7afefa34ba6cb468c39d908a05b5433a'],
    [['v'], 'fca9a5fba3e2d78b66786ffe66170fa895caff6bd219b77ff755688bd39b3c15'],
    [[], FULL],
  ])('by the keys %j is the one of the original', (keys, hash) => {
    expect(byKeys(keys)).toBe(hash);
  });

  test.each([[[]], [['id']]])('of the whole record does not depend on the keys %j', (fingerprintKeys) => {
    expect(compileFingerprint('src-a', { fingerprintMode: 'full_record', fingerprintKeys })(record)).toBe(FULL);
  });

  test('depends on the source', () => {
    const other = compileFingerprint('src-b', { fingerprintMode: 'keys', fingerprintKeys: ['id'] })(record);
    expect(other).toBe(hashOf('src-b:{"id": 7}'));
    expect(other).not.toBe(byKeys(['id']));
  });

  test('does not depend on the order of the keys in the record', () => {
    const full = compileFingerprint('s', { fingerprintMode: 'full_record', fingerprintKeys: [] });
    expect(full({ a: 1, b: { c: 2, d: 3 } })).toBe(full({ b: { d: 3, c: 2 }, a: 1 }));
  });

  test('writes the keys themselves as JSON', () => {
    const hash = compileFingerprint('é', { fingerprintMode: 'keys', fingerprintKeys: ['ë"'] })({ 'ë"': 1 });
    expect(hash).toBe(hashOf(String.raw`é:{"\u00eb\"": 1}`));
  });

  test.each<[unknown, string]>([
    [5, 's:5'],
    ['a', 's:"a"'],
    [null, 's:null'],
    [[1, null], 's:[1, null]'],
  ])('exists for the record %j, which is no object', (scalar, text) => {
    const full = compileFingerprint('s', { fingerprintMode: 'full_record', fingerprintKeys: [] });
    expect(full(scalar)).toBe(hashOf(text));
  });

  test('may take values of the answer, and elements of lists', () => {
    const fingerprint = compileFingerprint('s', { fingerprintMode: 'keys', fingerprintKeys: ['$root.env', 'l[1]'] });
    expect(fingerprint({ l: [1, 2] }, { env: 'eu' })).toBe(hashOf('s:{"$root.env": "eu", "l[1]": 2}'));
  });
});
