import { describe, expect, test } from 'vitest';
import { check } from './mcp-adapter/check/check.ts';
import { sampleAdapter } from './mcp-adapter/testing/sample.ts';
import { preparing } from './scrape-group/group/prepare.ts';
import { first } from './scrape-group/testing/sources.ts';
import { literalSecrets } from './validation/literal-secrets.ts';
import { DEFAULT_PERMISSIONS } from './validation/permissions.ts';

const paths = (document: unknown): string[] => literalSecrets(document, []).map(({ path }) => path);

/** Nested members: `a.b` of the value. */
const at = (path: string, value: unknown): unknown =>
  path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);

const RANDOM = '8f14e45fceea167a5a36dedd4bea2543';

describe('T9: a literal secret', () => {
  test.each([
    ['core.auth.token', 'sesame'],
    ['core.auth.signing_secret', 'sesame'],
    ['core.auth.token', '${A:-sesame}'],
    ['state_persistence.redis.password', 'sesame'],
    ['telemetry.headers.api-key', 'sesame'],
    ['telemetry.headers.x-team', RANDOM],
    ['telemetry.endpoint', 'https://me:sesame@collector:4317'],
    ['upstream.static_headers.Authorization', 'Bearer sesame'],
    ['upstream.static_headers.X-Api-Key', 'sesame'],
    ['upstream.static_headers.Cookie', 'a=b'],
    ...['Basic', 'Bearer', 'Digest', 'Token', 'ApiKey', 'Negotiate'].map((scheme) => [
      'upstream.static_headers.X-Upstream',
      `${scheme} sesame`,
    ]),
    ['upstream.url', 'http://me:sesame@host/mcp'],
    ['upstream.url', 'http://sesame@host/mcp'],
    ['upstream.url', 'http://host/mcp?a=b&api_key=sesame'],
    ['upstream.url', `http://host/mcp?key=${RANDOM}`],
    ['upstream.url', 'http://host/mcp?a=b#access_token=sesame'],
    ['upstream.url', 'http://${USER}:sesame@host/mcp'],
    ['upstream.url', 'http://host/mcp?token=${T:-sesame}'],
    ['source.endpoint', '/v1?access_token=sesame'],
    ['source.auth.password', 'sesame'],
    ['source.auth.keyValue', 'sesame'],
    ['source.auth.token', 'sesame'],
    ['source.auth.client_secret', 'sesame'],
    ['source.auth.tokenHeaders.Authorization', 'Basic sesame'],
    ['source.auth.bodyData.data', 'grant_type=client_credentials&client_secret=sesame'],
    ['source.auth.bodyData.data.client_secret', 'sesame'],
    ['source.scrape.extraHeaders.X-Auth-Token', 'sesame'],
    ['source.scrape.extraHeaders.X-Upstream', 'Basic sesame'],
    ['source.scrape.extraArgs.apikey', 'sesame'],
    ['source.tls.key', '-----BEGIN PRIVATE KEY-----'],
    ['scraper.otelHeaders.Authorization', 'Bearer sesame'],
    ['scraper.fingerprintStore.valkey.password', 'sesame'],
  ])('at %s: %s', (path, value) => {
    const [problem] = literalSecrets(at(path, value), []);
    expect(problem?.path.replaceAll(/[["\]]+/g, '.').replace(/\.$/, '')).toBe(path);
    expect(problem?.message).toMatch(
      /put it into a Secret, name that in spec\.env as [A-Z_]+, and write \$\{[A-Z_]+\} for it here/,
    );
    expect(problem?.message).not.toContain('sesame');
  });

  test.each([
    ['core.auth.token', '${TOKEN}'],
    ['core.auth.token', 'v1-${TOKEN}'],
    ['core.auth.token', null],
    ['core.auth.token', ' '],
    ['core.auth.header_name', 'X-Auth-Token'],
    ['core.auth.signed_upload_ttl_seconds', '120'],
    ['core.cors.allowed_headers', ['Authorization', 'X-Api-Key']],
    ['upstream.client_headers.passthrough', ['Authorization']],
    ['upstream.static_headers.Authorization', 'Bearer ${TOKEN}'],
    ['upstream.static_headers.Accept', 'application/vnd.github.v3+json'],
    ['upstream.static_headers.X-Session-Mode', 'sticky'],
    ['upstream.url', 'https://${USER}:${PASSWORD}@host/mcp?api_key=${KEY}'],
    ['upstream.url', 'https://bob:${PASSWORD}@host/mcp'],
    ['upstream.url', 'https://host/mcp?code=DE&key=name&session=x'],
    ['state_persistence.redis.key_base', 'mcp'],
    ['uploads.uri_scheme', 'upload://'],
    ['disabled_tools', ['delete_token', '.*secret.*']],
    ['source.auth.keyName', 'X-Api-Key'],
    ['source.auth.tokenKey', 'data.token'],
    ['source.auth.username', 'bob'],
    ['source.auth.bodyData.data', { grant_type: 'password', password: '${PW}' }],
    ['source.auth.bodyData.data', 'grant_type=client_credentials&client_secret=${S}'],
    ['source.auth.bodyData.data', 'grant_type=client_credentials'],
    ['source.auth.bodyData.type', 'raw'],
    ['source.scrape.rangeKeys.startKey', 'from'],
    ['source.scrape.extraArgs', { key: 'name', limit: 5, sort: ['session'] }],
    ['source.dataKey', 'data.token'],
    ['scraper.adminSecretEnv', 'ADMIN_TOKEN'],
    ['source.tls.keyFile', '/etc/tls/key.pem'],
  ])('is not %s: %j', (path, value) => {
    expect(paths(at(path, value))).toEqual([]);
  });

  test('is found in lists, and gets the name of a variable that may be one', () => {
    expect(paths(at('servers', [{ upstream: { url: 'http://me:sesame@host/mcp' } }]))).toEqual([
      'servers[0].upstream.url',
    ]);
    const [problem] = literalSecrets(at('upstream.static_headers.2FA-Token', 'sesame'), []);
    expect(problem?.message).toContain('in spec.env as SECRET_2FA_TOKEN, ');
  });

  test('makes a McpAdapter invalid, unless the operator allows it', () => {
    const resource = sampleAdapter({ 'spec.config.state_persistence': { redis: { host: 'r', password: 'sesame' } } });
    expect(check(resource, { httpRoutes: true })).toMatchObject({
      ok: false,
      reason: 'InvalidSpec',
      problems: [{ path: 'spec.config.state_persistence.redis.password' }],
    });
    expect(check(resource, { httpRoutes: true }, { ...DEFAULT_PERMISSIONS, literalSecrets: true }).ok).toBe(true);
  });

  test('makes an ApiScrapeSource invalid, unless the operator allows it', () => {
    const source = first('one', {
      source: { auth: { type: 'basic', username: 'bob', password: 'sesame' } },
      scraper: { otelHeaders: { Authorization: 'Bearer sesame' } },
    });
    expect(preparing(DEFAULT_PERMISSIONS)(source).problems.map(({ path }) => path)).toEqual([
      'source.auth.password',
      'scraper.otelHeaders.Authorization',
    ]);
    expect(preparing({ ...DEFAULT_PERMISSIONS, literalSecrets: true })(source).problems).toEqual([]);
  });
});
