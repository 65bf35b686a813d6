import { expect, test } from 'vitest';

import { type DataFile, dataFile, isDataUri } from './data-uri.ts';

const MOST = 100;
const file = (uri: string): DataFile => {
  const read = dataFile(uri, MOST);
  if ('problem' in read) throw new Error(read.problem);
  return read;
};
const problem = (uri: string): string => {
  const read = dataFile(uri, MOST);
  return 'problem' in read ? read.problem : 'none';
};

test.each([
  ['data:,', 'text/plain', 'data.txt', ''],
  ['data:,a%20b%C3%A9', 'text/plain', 'data.txt', 'a bé'],
  ['DATA:text/csv;charset=utf-8;BASE64,YSxi', 'text/csv', 'data.csv', 'a,b'],
  ['data:text/plain;base64,YQ', 'text/plain', 'data.txt', 'a'],
  ['data:text/plain;base64,YQ==', 'text/plain', 'data.txt', 'a'],
  ['data:application/json;name=x%2Fy.json,{}', 'application/json', 'y.json', '{}'],
  ['data:application/x-thing;filename="q.bin";base64,/+8=', 'application/x-thing', 'q.bin', '\ufffd\ufffd'],
])('%s is %s called %s', (uri, mimeType, filename, text) => {
  const { bytes, ...rest } = file(uri);
  expect(rest).toEqual({ mimeType, filename });
  expect(bytes.toString()).toBe(text);
});

test.each([
  ['data:text/plain;base64,YQ=', 'base64'],
  ['data:text/plain;base64,Y===', 'base64'],
  ['data:text/plain;base64,YWJj ', 'base64'],
  ['data:text/plain;base64,YW\nJj', 'base64'],
  ['data:text/plain;base64,YW-_', 'base64'],
  // Bits that stand for nothing.
  ['data:text/plain;base64,YR==', 'base64'],
  ['data:text/plain,%zz', 'escape'],
  ['data:text/plain;base64,/w==', 'no text'],
  ['data:image/png,hello', 'something else'],
  ['data:image/jpeg;base64,iVBORw0KGgo=', 'is image/png'],
  ['data:a b,x', 'media type'],
  [`data:${'x'.repeat(2000)},`, 'comma'],
  [`data:,${'x'.repeat(101)}`, 'more than 100 bytes'],
  [`data:;base64,${'A'.repeat(136)}`, 'more than 100 bytes'],
])('%s is refused: %s', (uri, why) => {
  expect(problem(uri)).toContain(why);
});

test('as many bytes as may be, in every form', () => {
  expect(file(`data:,${'%41'.repeat(100)}`).bytes).toHaveLength(100);
  expect(file(`data:;base64,${Buffer.alloc(100, 65).toString('base64')}`).bytes).toHaveLength(100);
  expect([isDataUri('Data:,'), isDataUri('data'), isDataUri('upload://x')]).toEqual([true, false, false]);
});
