import { expect, test } from 'vitest';
import { createLogger, type Logger } from './logger.ts';

function logger(): { log: Logger; lines: () => Record<string, unknown>[] } {
  const written: string[] = [];
  const log = createLogger('debug', { write: (line) => void written.push(line) });
  return { log, lines: () => written.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

test('of an error there is what it says, and its code', () => {
  const { log, lines } = logger();
  const error = Object.assign(new Error('no', { cause: new Error('why') }), { code: 'ECONNREFUSED', body: { a: 1 } });
  log.error({ controller: 'c', err: error }, 'failed');
  log.error({ err: 'text' }, 'failed');
  expect(lines()).toEqual([
    {
      level: 'error',
      time: expect.any(String),
      controller: 'c',
      err: { name: 'Error', message: 'no', code: 'ECONNREFUSED', cause: 'why' },
      msg: 'failed',
    },
    { level: 'error', time: expect.any(String), err: 'text', msg: 'failed' },
  ]);
});

test('L3: nothing in it acts on terminals', () => {
  const written: string[] = [];
  createLogger('info', { write: (line) => void written.push(line) }).info({ name: '\u009B31m' }, '\u202Eevil\u2028');
  expect(written).toEqual([expect.stringMatching(/^[ -~]+\n$/)]);
});

test('what looks like a credential is not shown', () => {
  const { log, lines } = logger();
  const url = 'https://user:abcdefgh@host/';
  log.info('Bearer abcdefgh');
  log.info({ url, token: 'abcdefgh', of: [{ password: 'abcdefgh' }] }, `at ${url}`);
  log.warn({ err: new Error(`Authorization: abcdefgh`, { cause: new Error(url) }) }, 'failed');
  log.error(new Error(url));
  expect(JSON.stringify(lines())).not.toContain('abcdefgh');
  expect(lines()).toHaveLength(4);
});
