import { describe, expect, it } from 'vitest';
import { checkAdapterConfig, loadAdapterConfig } from './load.ts';
import { load, problemsOf, sampleWith, toYaml } from '../testing/adapter-config.ts';

const servers = 'servers: [{id: a, mount_path: /a, upstream: {url: "http://a/mcp"}}]';

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

  it('H1 T17: that make a text, or all of them, too long are refused at their path, before they are resolved', () => {
    const env = { A: 'x'.repeat(100_000) };
    const one = toYaml(sampleWith({ 'core.public_base_url': '${A}'.repeat(15_000) }));
    expect(problemsOf(one, env)).toEqual([
      expect.objectContaining({
        path: 'core.public_base_url',
        message: expect.stringMatching(/^becomes 1500000000 characters long .* at most 1048576 are allowed$/),
        line: expect.any(Number),
      }),
    ]);
    const all = toYaml(sampleWith({ 'core.allowed_hosts': Array.from({ length: 170 }, () => '${A}') }));
    expect(problemsOf(all, env)).toEqual([
      expect.objectContaining({ path: '', message: expect.stringContaining('becomes 17000000 characters long') }),
    ]);
  });

  it('to a blank token leave auth without one', () => {
    const document = sampleWith({ 'core.auth': { enabled: true, token: '${TOKEN:- }' } });
    expect(problemsOf(toYaml(document)).map(({ path }) => path)).toEqual(['core.auth.token']);
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
