import { expect, test } from 'vitest';
import { describeError } from './describe-error.ts';

test('an error is shown with its difference, its places in our files and its cause, without colours', () => {
  const error = {
    name: 'AssertionError',
    message: 'expected 1 to be 2',
    diff: '\u001B[32m- Expected\u001B[39m',
    stack: [
      'AssertionError: expected 1 to be 2',
      '    at /project/adapter/a.test.ts:5:7',
      '    at new Promise (<anonymous>)',
      '    at run (/project/node_modules/vitest/x.js:1:1)',
      '    at process.processTicks (node:internal/process:103:5)',
    ].join('\n'),
    cause: { name: 'TypeError', message: 'TypeError: no', stack: '' },
  };
  expect(describeError(error)).toBe(
    [
      'AssertionError: expected 1 to be 2',
      '- Expected',
      '    at /project/adapter/a.test.ts:5:7',
      'Caused by TypeError: no',
    ].join('\n'),
  );
});
