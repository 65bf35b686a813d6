import { describe, expect, test } from 'vitest';

import { readOptions, shutdownGrace, USAGE, UsageError } from './options.ts';

const RUN = {
  action: 'run',
  caller: undefined,
  strict: false,
  print: false,
  connect: false,
  config: '/etc/remote-mcp-adapter/config.yaml',
  host: undefined,
  port: undefined,
  references: undefined,
  logLevel: undefined,
};

describe('the command line', () => {
  test.each<[string[], Record<string, string>, object]>([
    [[], {}, {}],
    [[], { MCP_ADAPTER_CONFIG: '/a.yaml' }, { config: '/a.yaml' }],
    [[], { MCP_ADAPTER_CONFIG: '' }, {}],
    [['--config', 'b.yaml'], { MCP_ADAPTER_CONFIG: '/a.yaml' }, { config: 'b.yaml' }],
    [['--config=b.yaml', '--check-config'], {}, { config: 'b.yaml', action: 'check-config' }],
    [['--check-config', '--strict'], {}, { action: 'check-config', strict: true }],
    [['--check-config', '--connect'], {}, { action: 'check-config', connect: true }],
    [['--host', '127.0.0.1', '--port', '0'], {}, { host: '127.0.0.1', port: 0 }],
    [['--port', '65535'], {}, { port: 65_535 }],
    [['--references', '/var/run/refs'], {}, { references: '/var/run/refs' }],
    [['--log-level', 'DEBUG'], {}, { logLevel: 'debug' }],
    [
      ['--explain-access', '--principal', 'user:anna', '--scopes', 'a b,c', '--claims', '{"groups":["x"]}'],
      {},
      {
        action: 'explain-access',
        caller: { principal: 'user:anna', scopes: ['a', 'b', 'c'], claims: { groups: ['x'] } },
      },
    ],
    [
      ['--explain-access', '--principal', 'token:ci'],
      {},
      { action: 'explain-access', caller: { principal: 'token:ci', scopes: [], claims: {} } },
    ],
    [['--version'], {}, { action: 'version' }],
    [['--help'], {}, { action: 'help' }],
    [['-h', '--version', '--check-config'], {}, { action: 'help' }],
  ])('%j with %j', (args, env, expected) => {
    expect(readOptions(args, env)).toEqual({ ...RUN, ...expected });
  });

  test.each<[string[], string]>([
    [['--port', '65536'], '--port must be a number from 0 to 65535, not "65536"'],
    [['--port=-1'], '--port must be'],
    [['--port', 'x'], '--port must be'],
    [['--port', ''], '--port must be a number from 0 to 65535, not ""'],
    [['--port', ' '], '--port must be'],
    [['--port', '1.5'], '--port must be'],
    [['--log-level', 'loud'], '--log-level must be one of debug, info, warning, error, critical, not "loud"'],
    [['--config'], '--config'],
    [['--strict'], '--strict goes with --check-config only'],
    [['--connect'], '--connect goes with --check-config only'],
    [['--explain-access', '--connect'], '--connect goes with --check-config only'],
    [['--explain-access'], '--explain-access needs --principal user:SUBJECT, client:ID or token:NAME, not ""'],
    [['--explain-access', '--principal', 'anna'], 'not "anna"'],
    [['--explain-access', '--principal', 'user:a', '--claims', '{'], '--claims must be a JSON object: '],
    [['--explain-access', '--principal', 'user:a', '--claims', '[]'], '--claims must be a JSON object'],
    [['--principal', 'user:a'], '--principal, --scopes and --claims go with --explain-access only'],
    [['--references'], '--references'],
    [['--unknown'], '--unknown'],
    [['file.yaml'], 'file.yaml'],
  ])('%j is refused: %s', (args, message) => {
    expect(() => readOptions(args, {})).toThrow(UsageError);
    expect(() => readOptions(args, {})).toThrow(message);
  });

  test.each([
    [undefined, 40],
    ['', 40],
    [' ', 40],
    ['soon', 40],
    ['-1', 40],
    ['Infinity', 40],
    ['0', 0],
    [' 1.5 ', 1.5],
  ])('is not asked how long calls may go on, but the environment: %j', (value, seconds) => {
    expect(shutdownGrace({ MCP_ADAPTER_SHUTDOWN_TIMEOUT_SECONDS: value }, 40)).toBe(seconds);
  });

  test('is described', () => {
    for (const option of [
      '--config',
      '--check-config',
      '--host',
      '--port',
      '--references',
      '--log-level',
      '--version',
      '--help',
    ]) {
      expect(USAGE).toContain(option);
    }
    expect(USAGE).toContain('${NAME:-default}');
  });
});
