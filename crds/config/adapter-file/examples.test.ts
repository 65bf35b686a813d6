import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { acceptReferences, inputSchema } from '../../generate/json-schema.ts';
import { AdapterConfig } from './adapter.ts';
import { effectiveServer } from './effective-server.ts';
import { loadAdapterConfig } from '../load/load.ts';
import { redactedConfig, secretsOf } from './redact-config.ts';
import { problemsOf } from '../testing/adapter-config.ts';
import { readYaml } from '../load/yaml-source.ts';

/** Configurations as users of the original have them. */
const read = (name: string): string => readFileSync(new URL(`../../testdata/${name}.yaml`, import.meta.url), 'utf8');

const env = {
  ADAPTER_TOKEN: 'adapter-token',
  ADAPTER_SIGNING_SECRET: 'signing-secret',
  OTEL_TOKEN: 'otel-token',
  REDIS_PASSWORD: 'redis-password',
  ISSUES_TOKEN: 'issues-token',
  PORT: '9000',
};

const names = ['local-dev', 'disk-playwright', 'redis-ha', 'passthrough'];

describe.each(names)('%s', (name) => {
  it('loads', () => {
    expect(problemsOf(read(name), env)).toEqual([]);
  });

  it('shows none of its secrets', () => {
    const config = loadAdapterConfig(read(name), env);
    const shown = JSON.stringify(redactedConfig(config));
    for (const secret of [...secretsOf(config), ...Object.values(env).filter((value) => value.includes('-'))]) {
      expect(shown).not.toContain(secret);
    }
  });

  it('satisfies the JSON Schema as it is written, with its references', () => {
    const schema = z.fromJSONSchema(acceptReferences(inputSchema(AdapterConfig)));
    const document = withoutNull(readYaml(read(name)).value);
    expect(schema.safeParse(document).error?.issues).toBeUndefined();
  });
});

describe('what the examples mean', () => {
  it('local-dev', () => {
    const { core, storage, sessions, uploads, servers } = loadAdapterConfig(read('local-dev'), {});
    expect(core).toMatchObject({ log_level: 'debug', allow_artifacts_download: true, shorten_descriptions: true });
    expect(storage).toMatchObject({ root: './data/shared', max_size: 500_000_000 });
    expect(sessions.allow_revival).toBe(false);
    expect(uploads).toMatchObject({ max_file_bytes: 25_000_000, ttl_seconds: null });
    expect(servers[0]?.mount_path).toBe('/mcp/notes');
  });

  it('disk-playwright', () => {
    const config = loadAdapterConfig(read('disk-playwright'), env);
    expect(config.core).toMatchObject({ public_base_url: 'https://mcp.example.com', upload_path: '/files/upload' });
    expect(config.core.auth).toMatchObject({ token: 'adapter-token', signing_secret: 'signing-secret' });
    expect(config.telemetry.enabled).toBe(false);
    const server = effectiveServer(config, config.servers[0] ?? expect.fail('no server'));
    expect(server.tool_defaults).toEqual({ tool_call_timeout_seconds: 180, allow_raw_output: false });
    expect(server.upstream_ping).toMatchObject({ interval_seconds: 20, timeout_seconds: 10, failure_threshold: 2 });
    expect(server.tool_definition_pinning).toMatchObject({ mode: 'block', block_strategy: 'baseline_subset' });
    expect(server.adapters[2]).toMatchObject({ allow_raw_output: false, expose_as_resource: false });
  });

  it('redis-ha', () => {
    const config = loadAdapterConfig(read('redis-ha'), env);
    expect(config.core).toMatchObject({ host: '0.0.0.0', port: 9000, public_base_url: null, code_mode_enabled: false });
    expect(config.telemetry).toMatchObject({
      headers: { Authorization: 'Bearer otel-token' },
      service_namespace: null,
    });
    expect(config.artifacts.uri_scheme).toBe('produced://');
    const [documents, archive] = config.servers.map((server) => effectiveServer(config, server));
    expect(documents?.tool_definition_pinning.mode).toBe('off');
    expect(documents?.tool_description_policy).toEqual({
      mode: 'preserve',
      max_tool_description_chars: 400,
      max_schema_description_chars: null,
    });
    expect(documents?.upstream_ping).toMatchObject({ timeout_seconds: 2.5, failure_threshold: 5 });
    expect(archive?.upstream_ping).toMatchObject({ enabled: false, timeout_seconds: 2.5, failure_threshold: 3 });
  });

  it('passthrough', () => {
    const config = loadAdapterConfig(read('passthrough'), env);
    const [issues, search] = config.servers.map((server) => effectiveServer(config, server));
    expect(issues?.upstream.static_headers).toEqual({
      Authorization: 'Bearer issues-token',
      'X-Client': 'mcp-adapter',
    });
    expect(issues?.upstream.client_headers).toEqual({
      required: ['X-User-Email'],
      passthrough: ['X-User-Email', 'X-Request-Id'],
      unsafe: false,
    });
    expect(search?.tool_metadata_sanitization).toMatchObject({ mode: 'block', normalize_unicode: true });
    expect(search).toMatchObject({ shorten_descriptions: true, short_description_max_tokens: 8 });
    expect(config.core.cleanup_interval_seconds).toBeNull();
  });

  it.each(names.filter((name) => name !== 'local-dev'))('%s names the variables that it needs', (name) => {
    const problems = problemsOf(read(name), {});
    expect(problems.length).toBeGreaterThan(0);
    for (const { message, line } of problems) {
      expect(message).toContain('refers to the environment variable');
      expect(line).toBeGreaterThan(1);
    }
  });
});

/** An editor knows a key without a value as null; the schema knows only the sections. */
function withoutNull(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([, section]) => section !== null));
}
