import { describe, expect, it } from 'vitest';
import { checkAdapterConfig, loadAdapterConfig } from './load.ts';
import { ConfigError, formatProblems } from './problem.ts';
import { load, problemsOf, sampleWith, toYaml } from './testing.ts';

const servers = 'servers: [{id: a, mount_path: /a, upstream: {url: "http://a/mcp"}}]';

/** A list with an anchor that repeats something ten times. */
const level = (name: string, of: string): string =>
  `${name}: &${name} [${Array.from({ length: 10 }, () => of).join(', ')}]`;

describe('a file', () => {
  it('with servers alone has every other default', () => {
    const config = loadAdapterConfig(servers, {});
    expect(config.core.port).toBe(8932);
    expect(config.servers[0]?.adapters).toEqual([]);
  });

  it.each(['', '# nothing yet\n', '---\n', '~'])('that is empty misses its servers: %j', (text) => {
    expect(problemsOf(text)).toEqual([
      expect.objectContaining({ path: 'servers', message: 'is required: a list with at least one server' }),
    ]);
  });

  it.each([
    ['- a\n- b', 'a list'],
    ['just text', '"just text"'],
  ])('that is no mapping is refused: %j', (text, shown) => {
    const [problem, ...others] = problemsOf(text);
    expect(others).toEqual([]);
    expect(problem).toMatchObject({ path: '', value: shown });
    expect(problem?.message).toContain('must be a mapping with the keys core, telemetry');
  });

  it('may leave sections, lists and maps without a value', () => {
    const text = `core:\nuploads:\n  # ttl_seconds: 5\nstate_persistence:\n  disk:\n    wal:\n  redis:\nservers:\n  - id: a
    mount_path: /a
    upstream: {url: "http://a", static_headers: , client_headers: {required: }}
    tool_defaults:
    upstream_ping:
    disabled_tools:
    adapters:\n`;
    expect(loadAdapterConfig(text, {})).toEqual(
      loadAdapterConfig('servers: [{id: a, mount_path: /a, upstream: {url: "http://a"}}]', {}),
    );
  });

  it('may use anchors, aliases and merge keys', () => {
    const text = `servers:
  - &base
    id: a
    mount_path: /a
    upstream: &upstream {url: "http://a", insecure_tls: true}
  - <<: *base
    id: b
    mount_path: /b
    upstream: {<<: *upstream, url: "http://b"}
`;
    expect(
      loadAdapterConfig(text, {}).servers.map(({ id, upstream }) => [id, upstream.url, upstream.insecure_tls]),
    ).toEqual([
      ['a', 'http://a', true],
      ['b', 'http://b', true],
    ]);
  });

  it('reads a bare off as a word, and yes and no as booleans', () => {
    const { core } = loadAdapterConfig(
      `core: {tool_definition_pinning: {mode: off}, allow_artifacts_download: yes}\n${servers}`,
      {},
    );
    expect(core.tool_definition_pinning.mode).toBe('off');
    expect(core.allow_artifacts_download).toBe(true);
  });

  it('may start with a byte order mark and end its lines with CRLF', () => {
    expect(loadAdapterConfig(`\uFEFFcore:\r\n  port: 1\r\n${servers}\r\n`, {}).core.port).toBe(1);
  });
});

describe('YAML that is broken', () => {
  it.each([
    ['an unclosed quote', 'core:\n  host: "abc\n', 3, 'Missing closing "quote'],
    ['a tab', 'core:\n\tport: 1\n', 2, 'tabs cannot indent'],
    ['two documents', `${servers}\n---\ncore: {}\n`, 2, 'more than one document'],
    ['a tag', `core: {host: !env HOST}\n${servers}`, 1, 'this tag (!name) is not known'],
    ['an alias without an anchor', `core:\n  auth:\n    token: *sesame\n${servers}`, 3, 'has no anchor'],
    ['a key that is a list', `? [a]\n: b\n${servers}`, 1, 'a key must be plain text'],
    ['nesting without an end', '['.repeat(50_000), 1, 'nested too deeply'],
  ])('names the line: %s', (_name, text, line, part) => {
    const problem = problemsOf(text).find(({ message }) => message.includes(part));
    expect(problem).toMatchObject({ path: '', line });
  });

  it('is never quoted in the message', () => {
    for (const text of [
      'password: *sesame',
      'password: "a\\qsesame"',
      'a: |sesame\n b',
      'a: [sesame',
      'a: b: sesame',
    ]) {
      expect(JSON.stringify(problemsOf(text))).not.toContain('sesame');
    }
  });

  it('that repeats aliases without end is refused', () => {
    const text = [level('a', 'x'), level('b', '*a'), level('c', '*b'), level('d', '*c'), level('e', '*d')].join('\n');
    expect(problemsOf(text)).toEqual([
      { path: '', message: expect.stringContaining('aliases in this file cannot be resolved') },
    ]);
  });

  it.each(['a: &a {b: *a}', 'a: &a [*a]', 'a: &a {b: {c: [*a]}}'])('that contains itself is refused: %s', (text) => {
    expect(problemsOf(text)).toEqual([{ path: '', message: expect.stringContaining('alias of itself') }]);
  });

  it('with a key set twice is still checked in full', () => {
    const text = `core:\n  port: 1\n  port: 0\n${servers}\nuploads: {ttl_seconds: 0}\ncore: {}\n`;
    expect(problemsOf(text).map(({ path, line, column }) => [path, line, column])).toEqual([
      ['core.port', 3, 3],
      ['uploads.ttl_seconds', 5, 11],
      ['core', 6, 1],
    ]);
  });

  it('names a key set twice inside a list', () => {
    const text = 'servers:\n  - id: a\n    mount_path: /a\n    id: b\n    upstream: {url: "http://a"}\n';
    expect(problemsOf(text)).toMatchObject([
      { path: 'servers[0].id', message: 'is set twice; keep one of the two', line: 4 },
    ]);
  });
});

describe('references to the environment', () => {
  const text = toYaml(
    sampleWith({
      'core.port': '${PORT}',
      'core.auth': { enabled: '${AUTH:-false}', token: '${TOKEN:-}' },
      'uploads.max_file_bytes': '${LIMIT:-1Ki}',
      'servers[0].upstream.url': 'http://${HOST:-files}:${PORT}/mcp',
      'servers[0].disabled_tools': ['${TOOL:-a.*}', 'b'],
    }),
  );

  it('become what their variables hold, as the type that the field wants', () => {
    const config = loadAdapterConfig(text, { PORT: '8080', AUTH: 'true', TOKEN: '0123', LIMIT: '5', TOOL: '' });
    expect(config.core.port).toBe(8080);
    expect(config.core.auth).toMatchObject({ enabled: true, token: '0123' });
    expect(config.uploads.max_file_bytes).toBe(5);
    expect(config.servers[0]?.upstream.url).toBe('http://files:8080/mcp');
    expect(config.servers[0]?.disabled_tools).toEqual(['a.*', 'b']);
  });

  it.each([{}, { PORT: '' }])('without a variable are an error: %j', (env) => {
    const problems = problemsOf(text, env);
    expect(problems.map(({ path }) => path)).toEqual(['servers[0].upstream.url', 'core.port']);
    expect(problems[1]?.message).toContain('refers to the environment variable PORT, which is unset or empty');
  });

  it('are all named, and do not hide other problems', () => {
    const document = sampleWith({
      'core.auth': { enabled: true, token: '${A}${B}' },
      'core.host': '${C}',
      'core.port': 0,
    });
    expect(problemsOf(toYaml(document)).map(({ path, message }) => [path, /variable (\w)/.exec(message)?.[1]])).toEqual(
      [
        ['core.auth.token', 'A'],
        ['core.auth.token', 'B'],
        ['core.host', 'C'],
        ['core.port', undefined],
      ],
    );
  });

  it('in keys stay as they are', () => {
    const [problem] = problemsOf(toYaml(sampleWith({ 'servers[0].upstream.static_headers': { '${NAME}': 'x' } })), {
      NAME: 'X-A',
    });
    expect(problem).toMatchObject({ path: 'servers[0].upstream.static_headers["${NAME}"]' });
  });

  it('never show what the variable holds', () => {
    const problem = problemsOf(text, { PORT: 'hunter2' }).find(({ path }) => path === 'core.port');
    expect(problem).toMatchObject({ value: 'the value of "${PORT}"' });
    expect(JSON.stringify(problemsOf(text, { PORT: 'hunter2' }))).not.toContain('hunter2');
  });

  it('to a blank token leave auth without one', () => {
    const document = sampleWith({ 'core.auth': { enabled: true, token: '${TOKEN:- }' } });
    expect(problemsOf(toYaml(document)).map(({ path }) => path)).toEqual(['core.auth.token']);
  });
});

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
        message: 'is not a known key; known here: enabled, max_file_bytes, ttl_seconds, require_sha256, uri_scheme',
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

describe('checkAdapterConfig, where the environment is not known', () => {
  it('leaves out what references stand for', () => {
    const document = sampleWith({
      'core.port': '${PORT}',
      'core.auth': { enabled: '${AUTH:-true}', token: null },
      'state_persistence.reconciliation.legacy_server_id': 'other',
      'servers[0].id': '${ID}',
      'servers[0].mount_path': '/${ID}',
      'uploads.uri_scheme': '${SCHEME}',
    });
    expect(checkAdapterConfig(document)).toEqual([]);
  });

  it('finds everything else', () => {
    const document = sampleWith({ 'core.port': 0, 'core.auth': { enabled: true }, 'core.host': '${HOST}', typo: 1 });
    expect(checkAdapterConfig(document).map(({ path }) => path)).toEqual(['core.port', 'typo', 'core.auth.token']);
  });

  it('finds nothing in a valid configuration', () => {
    expect(checkAdapterConfig(sampleWith({}))).toEqual([]);
    expect(load(sampleWith({})).servers).toHaveLength(1);
  });
});
