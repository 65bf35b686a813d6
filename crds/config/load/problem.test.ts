import { describe, expect, it } from 'vitest';
import { Uploads } from '../adapter-file/uploads.ts';
import { ConfigError, formatProblems } from './problem.ts';
import { problemsOf, sampleWith, toYaml } from '../testing/adapter-config.ts';

const servers = 'servers: [{id: a, mount_path: /a, upstream: {url: "http://a/mcp"}}]';

describe('a problem', () => {
  it('names the nearest known key', () => {
    const cases = [
      ['core.prot', 'port'],
      ['core.logLevel', 'log_level'],
      ['core.max_start_wait_second', 'max_start_wait_seconds'],
      ['server', 'servers'],
      ['state_persistance', 'state_persistence'],
      ['core.auth.tokn', 'token'],
      ['state_persistence.disk.wal.enable', 'enabled'],
      ['servers[0].upstream.client_headers.require', 'required'],
      ['servers[0].upstream_ping.interval', 'interval_seconds'],
      ['servers[0].adapters[0].file_path_arg', 'file_path_argument'],
      ['servers[0].adapters[1].output_locator.output_path_regex', 'output_path_regexes'],
      ['servers[0].adapters[1].overrides.tool_call_timeout', 'tool_call_timeout_seconds'],
    ] as const;
    for (const [path, suggestion] of cases) {
      expect(problemsOf(toYaml(sampleWith({ [path]: 1 }))), path).toMatchObject([
        { path, suggestion, message: `is not a known key; did you mean ${suggestion}?` },
      ]);
    }
  });

  it('lists the known keys where none is near', () => {
    expect(problemsOf(toYaml(sampleWith({ 'uploads.quota': 1 })))).toMatchObject([
      {
        path: 'uploads.quota',
        message: `is not a known key; known here: ${Object.keys(Uploads.shape).join(', ')}`,
      },
    ]);
  });

  it('does not take what every object has for a key', () => {
    const text = `${servers}\nconstructor: 1\n__proto__: {servers: []}\ncore: {toString: 1}\n`;
    expect(problemsOf(text).map(({ path }) => path)).toEqual(['constructor', '__proto__', 'core.toString']);
  });

  it('shows the value, what is allowed and where it stands', () => {
    expect(problemsOf(`core:\n  port: 70000\n${servers}`)).toEqual([
      {
        path: 'core.port',
        message: 'must be an integer from 1 to 65535, not 70000',
        value: '70000',
        allowed: 'an integer from 1 to 65535',
        line: 2,
        column: 3,
      },
    ]);
  });

  it('does not show secrets', () => {
    const document = sampleWith({
      'core.auth': { enabled: true, token: 's3cret\n', signing_secret: 5_318_008 },
      'state_persistence.redis': { password: 5_318_008, pasword: 's3cret' },
      'telemetry.headers': { 'x-team': 5_318_008 },
      'servers[0].upstream': {
        url: 'ftp://user:s3cret@x/?api_key=s3cret',
        static_headers: { Authorization: 's3cret\n', 'X-Any': 's3cret\n' },
      },
    });
    const problems = problemsOf(toYaml(document));
    expect(problems.length).toBe(8);
    expect(JSON.stringify(problems)).not.toMatch(/s3cret|5318008/);
  });

  it('stands at its nearest ancestor when the key is missing', () => {
    const problems = problemsOf(
      'servers:\n  - id: a\n    mount_path: /a\n  - id: b\n    mount_path: /b\n    upstream: {}\n',
    );
    expect(problems).toMatchObject([
      { path: 'servers[0].upstream', line: 2, column: 5 },
      { path: 'servers[1].upstream.url', line: 6, column: 5 },
    ]);
  });

  it('is found behind aliases', () => {
    const text = `core: {upstream_ping: &ping {interval_seconds: 0}}\nservers:\n  - {id: a, mount_path: /a, upstream: {url: "http://a"}, upstream_ping: *ping}\n`;
    expect(problemsOf(text)).toMatchObject([
      { path: 'core.upstream_ping.interval_seconds', line: 1, column: 30 },
      { path: 'servers[0].upstream_ping.interval_seconds', line: 1, column: 30 },
    ]);
  });

  it('shortens long values', () => {
    const [problem] = problemsOf(toYaml(sampleWith({ 'core.host': 'x'.repeat(10_000) })));
    expect(problem?.message.length).toBeLessThan(250);
  });
});

describe('formatProblems', () => {
  it('writes a headline and a line for each problem, without a stack trace', () => {
    const error = new ConfigError(problemsOf(`core: {prot: 1, port: 0}\n${servers}`));
    expect(formatProblems(error, 'config.yaml')).toBe(
      [
        'config.yaml cannot be used: 2 problems',
        '  config.yaml:1:8: core.prot is not a known key; did you mean port?',
        '  config.yaml:1:17: core.port must be an integer from 1 to 65535, not 0',
      ].join('\n'),
    );
  });

  it('copes with problems that have no place', () => {
    const error = new ConfigError([{ path: '', message: 'the file is odd' }]);
    expect(formatProblems(error, 'c.yaml')).toBe('c.yaml cannot be used: 1 problem\n  c.yaml: the file is odd');
    expect(error.message).toBe('the file is odd');
  });
});
