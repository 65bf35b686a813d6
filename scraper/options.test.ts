import { describe, expect, test } from 'vitest';
import { readOptions, USAGE, UsageError } from './options.ts';

const NONE = { host: undefined, port: undefined, references: undefined, shard: undefined, keepGoing: false };
const RUN = { action: 'run', config: './config.yaml', ...NONE };

describe('the command line', () => {
  test.each<[string[], Record<string, string>, object]>([
    [[], {}, {}],
    [[], { SCRAPER_CONFIG: '/a.yaml' }, { config: '/a.yaml' }],
    [[], { SCRAPER_CONFIG: '' }, {}],
    [['--config', 'b.yaml'], { SCRAPER_CONFIG: '/a.yaml' }, { config: 'b.yaml' }],
    [['--config=b.yaml', '--validate'], {}, { config: 'b.yaml', action: 'validate' }],
    [['--host', '127.0.0.1', '--port', '0'], {}, { host: '127.0.0.1', port: 0 }],
    [['--port', '65535'], {}, { port: 65_535 }],
    [['--references', '/var/run/refs'], {}, { references: '/var/run/refs' }],
    [['--shard', 'tools/scraper2-shop'], {}, { shard: 'tools/scraper2-shop' }],
    [['--keep-going'], {}, { keepGoing: true }],
    [['--once'], {}, { action: 'once' }],
    [['--explain', 'orders'], {}, { action: 'explain', explain: { source: 'orders', limit: 5 } }],
    [['--explain=', '--limit', '0'], {}, { action: 'explain', explain: { source: '', limit: 0 } }],
    [['--explain', 'a', '--limit=100'], {}, { action: 'explain', explain: { source: 'a', limit: 100 } }],
    [['--version'], {}, { action: 'version' }],
    [['--help'], {}, { action: 'help' }],
    [['-h', '--version', '--validate'], {}, { action: 'help' }],
  ])('%j with %j', (args, env, expected) => {
    expect(readOptions(args, env)).toEqual({ ...RUN, ...expected });
  });

  test.each<[string[], string]>([
    [['--port', '65536'], '--port must be a number from 0 to 65535, not "65536"'],
    [['--port=-1'], '--port must be'],
    [['--port', 'x'], '--port must be'],
    [['--port', ''], '--port must be'],
    [['--port', '1.5'], '--port must be'],
    [['--limit', '5'], '--limit goes with --explain SOURCE'],
    [['--explain', 'a', '--limit', 'x'], '--limit must be a number from 0 to 100000, not "x"'],
    [['--explain', 'a', '--limit=-1'], '--limit must be'],
    [['--explain'], '--explain'],
    [['--config'], '--config'],
    [['--unknown'], '--unknown'],
    [['file.yaml'], 'file.yaml'],
  ])('%j is refused: %s', (args, message) => {
    expect(() => readOptions(args, {})).toThrow(UsageError);
    expect(() => readOptions(args, {})).toThrow(message);
  });

  test('is described', () => {
    for (const option of [
      '--config',
      '--validate',
      '--explain',
      '--limit',
      '--once',
      '--host',
      '--port',
      '--references',
      '--shard',
      '--version',
      '--help',
    ]) {
      expect(USAGE).toContain(option);
    }
  });
});
