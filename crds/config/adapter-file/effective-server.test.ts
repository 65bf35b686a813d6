import { describe, expect, it } from 'vitest';
import { effectiveServer } from './effective-server.ts';
import { load, sampleWith } from '../testing/adapter-config.ts';

function resolve(values: Record<string, unknown>) {
  const config = load(sampleWith(values));
  return effectiveServer(config, config.servers[0] ?? expect.fail('no server'));
}

describe('effectiveServer', () => {
  it('inherits everything that the server leaves out', () => {
    const config = load(sampleWith({}));
    const { core } = config;
    expect(resolve({})).toEqual({
      id: 'files',
      mount_path: '/mcp',
      oauth: null,
      access: null,
      upstream: config.servers[0]?.upstream,
      disabled_tools: [],
      adapters: config.servers[0]?.adapters,
      tool_defaults: core.defaults,
      code_mode_enabled: false,
      shorten_descriptions: false,
      short_description_max_tokens: 16,
      tool_description_policy: core.tool_description_policy,
      tool_metadata_sanitization: core.tool_metadata_sanitization,
      tool_definition_pinning: core.tool_definition_pinning,
      upstream_ping: core.upstream_ping,
      limits: [],
      results: { ...core.results, tools: {} },
    });
  });

  it('has the entries of a profile behind its own', () => {
    const own = [{ type: 'files', tools: ['read_*'], arguments: { path: 'edit' } }];
    const { adapters } = resolve({ 'servers[0].adapters': own, 'servers[0].profile': 'markitdown' });
    expect(adapters.map(({ tools }) => tools)).toEqual([['read_*'], ['convert_to_markdown']]);
    expect(adapters[1]).toEqual({
      type: 'files',
      tools: ['convert_to_markdown'],
      arguments: { uri: { role: 'in', as: 'file_uri', max_bytes: null, max_files: 100, create: false } },
      found: [],
    });
  });

  it('finds the files of a profile in its folder', () => {
    const { adapters } = resolve({ 'servers[0].profile': { name: 'playwright', folder: '/data/browser' } });
    const found = adapters.flatMap((entry) => (entry.type === 'files' ? entry.found : []));
    expect(found.map((one) => one.relative_to)).toEqual(['/data', '/data/browser', '/data/browser', '/data/browser']);
  });

  it('replaces the whole list of limits, also by an empty one', () => {
    const inherited = { per: 'caller', rate: '100/min', burst: null, concurrent: 5 };
    const own = { per: 'tool', rate: null, burst: null, concurrent: 2 };
    expect(resolve({ 'core.limits': [inherited] }).limits).toEqual([inherited]);
    expect(resolve({ 'core.limits': [inherited], 'servers[0].limits': null }).limits).toEqual([inherited]);
    expect(resolve({ 'core.limits': [inherited], 'servers[0].limits': [own] }).limits).toEqual([own]);
    expect(resolve({ 'core.limits': [inherited], 'servers[0].limits': [] }).limits).toEqual([]);
  });

  it.each([
    ['tool_defaults.tool_call_timeout_seconds', 'core.defaults.tool_call_timeout_seconds', 30, 5],
    ['tool_defaults.allow_raw_output', 'core.defaults.allow_raw_output', true, false],
    ['code_mode_enabled', 'core.code_mode_enabled', true, false],
    ['shorten_descriptions', 'core.shorten_descriptions', true, false],
    ['short_description_max_tokens', 'core.short_description_max_tokens', 4, 5],
    ['tool_description_policy.mode', 'core.tool_description_policy.mode', 'strip', 'truncate'],
    [
      'tool_description_policy.max_tool_description_chars',
      'core.tool_description_policy.max_tool_description_chars',
      1,
      2,
    ],
    [
      'tool_description_policy.max_schema_description_chars',
      'core.tool_description_policy.max_schema_description_chars',
      1,
      2,
    ],
    ['tool_metadata_sanitization.mode', 'core.tool_metadata_sanitization.mode', 'off', 'block'],
    ['tool_metadata_sanitization.normalize_unicode', 'core.tool_metadata_sanitization.normalize_unicode', false, true],
    [
      'tool_metadata_sanitization.remove_invisible_characters',
      'core.tool_metadata_sanitization.remove_invisible_characters',
      false,
      true,
    ],
    ['tool_metadata_sanitization.max_tool_title_chars', 'core.tool_metadata_sanitization.max_tool_title_chars', 1, 2],
    [
      'tool_metadata_sanitization.max_tool_description_chars',
      'core.tool_metadata_sanitization.max_tool_description_chars',
      1,
      2,
    ],
    ['tool_metadata_sanitization.max_schema_text_chars', 'core.tool_metadata_sanitization.max_schema_text_chars', 1, 2],
    ['tool_definition_pinning.mode', 'core.tool_definition_pinning.mode', 'off', 'block'],
    [
      'tool_definition_pinning.block_strategy',
      'core.tool_definition_pinning.block_strategy',
      'baseline_subset',
      'error',
    ],
    [
      'tool_definition_pinning.block_error_session_action',
      'core.tool_definition_pinning.block_error_session_action',
      'keep',
      'invalidate',
    ],
    ['tool_definition_pinning.sessionless_ttl_seconds', 'core.tool_definition_pinning.sessionless_ttl_seconds', 1, 2],
    ['upstream_ping.enabled', 'core.upstream_ping.enabled', false, true],
    ['upstream_ping.interval_seconds', 'core.upstream_ping.interval_seconds', 1, 2],
    ['upstream_ping.timeout_seconds', 'core.upstream_ping.timeout_seconds', 1, 2],
    ['upstream_ping.failure_threshold', 'core.upstream_ping.failure_threshold', 1, 2],
    ['upstream_ping.open_cooldown_seconds', 'core.upstream_ping.open_cooldown_seconds', 1, 2],
    ['upstream_ping.half_open_probe_allowance', 'core.upstream_ping.half_open_probe_allowance', 1, 2],
  ])('%s: its own value goes before that of %s, and null inherits', (field, inherited, general, own) => {
    const own_field = `servers[0].${field}`;
    expect(resolve({ [inherited]: general })).toHaveProperty(field, general);
    expect(resolve({ [inherited]: general, [own_field]: null })).toHaveProperty(field, general);
    expect(resolve({ [inherited]: general, [own_field]: own })).toHaveProperty(field, own);
  });

  it('has no time limit when core has none, and its own when it sets one', () => {
    const none = { 'core.defaults.tool_call_timeout_seconds': null };
    expect(resolve(none).tool_defaults.tool_call_timeout_seconds).toBeNull();
    expect(resolve({ ...none, 'servers[0].tool_defaults.tool_call_timeout_seconds': 5 }).tool_defaults).toMatchObject({
      tool_call_timeout_seconds: 5,
    });
  });

  it('keeps null where it means no limit', () => {
    const { tool_metadata_sanitization } = resolve({ 'core.tool_metadata_sanitization.max_tool_title_chars': null });
    expect(tool_metadata_sanitization.max_tool_title_chars).toBeNull();
  });
});
