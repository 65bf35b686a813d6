import { expect, test } from 'vitest';
import { bearerToken } from './bearer-token.ts';

test.each<[string | undefined, boolean]>([
  ['Bearer Right-Token', true],
  ['bearer Right-Token', true],
  ['BEARER  Right-Token', true],
  ['Bearer right-token', false],
  ['Bearer Right-Toke', false],
  ['Bearer Right-Token2', false],
  ['Bearer Right-Token, Bearer Right-Token', false],
  ['Bearer ', false],
  ['Bearer', false],
  ['Right-Token', false],
  ['Basic Right-Token', false],
  ['', false],
  [undefined, false],
])('the header %j has the token: %s', (header, right) => {
  expect(bearerToken('Right-Token')(header)).toBe(right);
});

test('a token may have letters beyond ASCII, whose bytes are compared', () => {
  const asNodeReadsIt = Buffer.from('Bearer zoë', 'utf8').toString('latin1');
  expect(bearerToken('zoë')(asNodeReadsIt)).toBe(true);
});

test('nobody has an empty token', () => {
  for (const header of ['Bearer ', 'Bearer  ', 'Bearer', '', undefined]) expect(bearerToken('')(header)).toBe(false);
});
