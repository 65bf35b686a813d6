import { describe, expect, test } from 'vitest';

import { createRedaction } from '../../../lib/redaction/redact.ts';
import { LogOutput } from './log-output.ts';
import { createLogger, isInfoEnabled, type LogLevel, shorten } from './logger.ts';

function logger(level: LogLevel): { log: ReturnType<typeof createLogger>; lines: () => Record<string, unknown>[] } {
  const written: string[] = [];
  const log = createLogger(level, createRedaction({ secrets: ['s3cr3t-value'] }), {
    write: (line) => void written.push(line),
  });
  return { log, lines: () => written.map((line) => JSON.parse(line)) };
}

describe('the log', () => {
  test('is JSON lines with time, level by name, fields and message', () => {
    const { log, lines } = logger('debug');
    log.warn({ server_id: 's1', n: 1 }, 'upstream ping failed');
    expect(lines()).toEqual([
      {
        level: 'warning',
        time: expect.stringMatching(/^\d{4}-.*Z$/),
        server_id: 's1',
        n: 1,
        msg: 'upstream ping failed',
      },
    ]);
  });

  test.each<[LogLevel, string[]]>([
    ['debug', ['debug', 'info', 'warning', 'error', 'critical']],
    ['info', ['info', 'warning', 'error', 'critical']],
    ['warning', ['warning', 'error', 'critical']],
    ['error', ['error', 'critical']],
    ['critical', ['critical']],
  ])('at level %s shows %j', (level, shown) => {
    const { log, lines } = logger(level);
    log.debug('x');
    log.info('x');
    log.warn('x');
    log.error('x');
    log.fatal('x');
    expect(lines().map((line) => line['level'])).toEqual(shown);
    expect(isInfoEnabled(log)).toBe(shown.includes('info'));
  });

  test('shows no secret, in messages, arguments, fields and errors', () => {
    const { log, lines } = logger('info');
    log.info('s3cr3t-value');
    log.info('with %s and %s', 'Bearer abcdefgh', 's3cr3t-value');
    log.info({ headers: { authorization: 'abcdefgh' }, url: 'https://u:abcdefgh@h/' }, 'token=abcdefgh');
    log.error({ err: new Error('s3cr3t-value', { cause: new Error('token=abcdefgh') }) }, 'failed');
    log.error(new Error('s3cr3t-value'));
    const text = JSON.stringify(lines());
    expect(text).not.toContain('s3cr3t-value');
    expect(text).not.toContain('abcdefgh');
    expect(lines()[3]).toMatchObject({ err: { type: 'Error', message: '<redacted>', stack: expect.any(String) } });
    expect(lines()[4]).toMatchObject({ err: { message: '<redacted>' }, msg: '<redacted>' });
  });
});

test('L3: nothing in it acts on terminals', () => {
  const written: string[] = [];
  const output = new LogOutput({ write: (line) => void written.push(line) });
  createLogger('debug', createRedaction(), output).info({ tool: '\u009B31m' }, '\u202Eevil\u2028');
  expect(written).toEqual([expect.stringMatching(/^[ -~]+\n$/)]);
  expect(JSON.parse(written[0] ?? '')).toMatchObject({ tool: '\u009B31m', msg: '\u202Eevil\u2028' });
});

test('an id of a session is never written whole, wherever it stands', () => {
  const id = '0123456789abcdef0123456789ABCDEF';
  const { log, lines } = logger('info');
  log.info(`the folders of session ${id} could not be removed`);
  log.info('with %s', id);
  log.info({ path: `/artifacts/s1/${id}/${id}x` }, 'request');
  log.error({ err: new Error(`/storage/${id}: EIO`, { cause: new Error(`x${id}y`) }) }, 'failed');
  log.error(new Error(`a${id}f`));
  log.info(`${'x'.repeat(16_384 - 31)}${id}`);
  const text = JSON.stringify(lines());
  expect(text).not.toContain('12345678');
  expect(lines()[0]).toMatchObject({ msg: 'the folders of session 01234567… could not be removed' });
  expect(lines()[2]).toMatchObject({ path: '/artifacts/s1/01234567…/01234567…x' });
});

test('a session id is shown so far that it can be followed and not used', () => {
  expect(shorten('0123456789abcdef0123456789abcdef')).toBe('01234567');
});
