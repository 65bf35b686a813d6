import { expect, test } from 'vitest';
import { withPlaceholders } from '../lib/redaction/hidden-places.ts';
import { createLogger } from './logger.ts';

function logged(
  level: 'debug' | 'warning',
  write: (logger: ReturnType<typeof createLogger>) => void,
  secrets: string[] = [],
) {
  const lines: string[] = [];
  write(createLogger(level, () => secrets, { write: (line: string) => void lines.push(line) }));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

test('lines are JSON with the time and the level by name', () => {
  const lines = logged('debug', (logger) => {
    logger.debug('a');
    logger.warn({ source: 's' }, 'b');
    logger.fatal('c');
  });
  expect(lines).toEqual([
    { level: 'debug', time: expect.stringMatching(/^\d{4}-.*Z$/), msg: 'a' },
    { level: 'warning', time: expect.anything(), source: 's', msg: 'b' },
    { level: 'critical', time: expect.anything(), msg: 'c' },
  ]);
});

test('L3: nothing in them acts on terminals', () => {
  const written: string[] = [];
  const log = createLogger('info', () => [], { write: (line: string) => void written.push(line) });
  log.info({ source: '\u009B31m' }, '\u202Eevil\u2028');
  expect(written).toEqual([expect.stringMatching(/^[ -~]+\n$/)]);
});

test('what is less severe than the level is left out', () => {
  expect(logged('warning', (logger) => logger.info('a'))).toEqual([]);
});

test('secrets are taken out of messages, fields and errors', () => {
  const secret = 'quote"and\\slash';
  const [line] = logged(
    'debug',
    (logger) =>
      logger.error({ err: new Error(`bad ${secret}`), deep: { url: `http://x/${secret}` } }, `with ${secret}`),
    [secret, 'abc'],
  );
  expect(JSON.stringify(line)).not.toContain('slash');
  expect(line).toMatchObject({ msg: 'with <redacted>', deep: { url: 'http://x/<redacted>' } });
});

test('O23: hosts stand in lines as the configuration writes them', () => {
  const written: string[] = [];
  const told = withPlaceholders([{ host: 'salary-abc123.example.com', written: '${A__S}.example.com' }]);
  const log = createLogger('info', () => [], { write: (line: string) => void written.push(line) }, told);
  log.warn({ error: 'getaddrinfo ENOTFOUND salary-abc123.example.com' }, 'window failed');
  expect(JSON.parse(written.join(''))).toMatchObject({ error: 'getaddrinfo ENOTFOUND ${A__S}.example.com' });
});
