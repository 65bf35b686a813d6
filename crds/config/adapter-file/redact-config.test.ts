import { describe, expect, it } from 'vitest';
import { redactUrl, secretsInUrl } from '../../../lib/redaction/redact-url.ts';
import { namesOf, redactedConfig, redactionOf, secretsOf } from './redact-config.ts';
import { looksSecret } from '../../../lib/redaction/secret-names.ts';
import { get, load, sample, sampleWith } from '../testing/adapter-config.ts';

const encoded = (text: string): string => Buffer.from(text).toString('base64');
const basic = Buffer.from('adapter:basic-password-1').toString('base64');

const oauth = (secret: string) => ({
  issuer: 'https://id',
  audiences: ['mcp'],
  introspection: { endpoint: 'https://id/ask', client_id: 'mcp', client_secret: secret },
});

const config = load(
  sampleWith({
    'core.auth': {
      enabled: true,
      token: 'adapter-token-1',
      signing_secret: 'signing-secret-1',
      tokens: [{ name: 'ci', token: 'named-token-1' }],
      oauth: oauth('introspection-1'),
    },
    'servers[0].auth': { oauth: oauth('introspection-2') },
    telemetry: {
      endpoint: 'https://otel:otel-password-1@collector/v1/metrics',
      logs_endpoint: 'https://logs:otel-password-2@collector/v1/logs?api-key=otel-query-1',
      traces: { endpoint: 'https://traces:otel-password-3@collector/v1/traces' },
      headers: { 'X-Honeycomb-Team': 'otel-header-1' },
    },
    'state_persistence.redis': { username: 'adapter', password: 'redis-password-1' },
    'servers[0].upstream': {
      url: 'https://me:url%20password-1@files/mcp?tenant=acme&access_token=query-token-1',
      static_headers: {
        Authorization: 'Bearer static-token-1',
        'Proxy-Authorization': `Basic ${basic}`,
        'X-Api-Key': 'static-key-1',
        'X-Team': 'research',
        'X-Ticket': 'ab12cd34ef56gh78ij90',
      },
      client_headers: { passthrough: ['X-User', 'x-team'], required: ['X-Needed'] },
    },
    // A secret that was put where none belongs.
    'servers[0].disabled_tools': ['x-redis-password-1-y', 'static-token-1'],
  }),
);

const secrets = [
  'adapter-token-1',
  'signing-secret-1',
  'named-token-1',
  'introspection-1',
  'introspection-2',
  'otel-password-1',
  'otel-password-2',
  'otel-password-3',
  'otel-query-1',
  'otel-header-1',
  'redis-password-1',
  'url%20password-1',
  'url password-1',
  'query-token-1',
  // The headers that users and passwords of URLs become.
  encoded('otel:otel-password-1'),
  encoded('logs:otel-password-2'),
  encoded('traces:otel-password-3'),
  encoded('me:url password-1'),
  'Bearer static-token-1',
  'static-token-1',
  `Basic ${basic}`,
  basic,
  'basic-password-1',
  'static-key-1',
  'ab12cd34ef56gh78ij90',
];

describe('secretsOf', () => {
  it('names every secret, and nothing else', () => {
    expect(secretsOf(config).sort()).toEqual([...secrets].sort());
  });

  it('names longer ones first', () => {
    const lengths = secretsOf(config).map(({ length }) => length);
    expect(lengths).toEqual([...lengths].sort((a, b) => b - a));
  });

  it('finds none where none is configured', () => {
    expect(secretsOf(load(sampleWith({ 'core.auth.token': ' ' })))).toEqual([]);
  });
});

it('the names of all headers that are configured are known', () => {
  expect(namesOf(config).sort()).toEqual([
    'authorization',
    'proxy-authorization',
    'x-api-key',
    'x-honeycomb-team',
    'x-mcp-adapter-auth-token',
    'x-needed',
    'x-team',
    'x-ticket',
    'x-user',
  ]);
});

describe('redactionOf', () => {
  const { text, value } = redactionOf(config, {
    AWS_SECRET_ACCESS_KEY: 'aws-secret-1',
    AWS_SESSION_TOKEN: 'aws-session-1',
    OTEL_EXPORTER_OTLP_HEADERS: 'x=otel-variable-1, authorization=Bearer%20otel-variable-2',
    OTEL_EXPORTER_OTLP_LOGS_HEADERS: 'y=otel-variable-3',
    HOME: '/home/me',
  });

  it('takes out every secret of the configuration and of the environment', () => {
    const ofVariables = ['aws-secret-1', 'aws-session-1', 'otel-variable-1', 'otel-variable-2', 'otel-variable-3'];
    for (const secret of [...secrets, ...ofVariables]) expect(text(`a ${secret} b`)).not.toContain(secret);
    expect(text('/home/me')).toBe('/home/me');
  });

  it('takes out the values of configured headers', () => {
    expect(text('x-team: research')).toBe('x-team: <redacted>');
    expect(value({ 'X-User': 'me', x_needed: 'it', 'x-other': 'kept' })).toEqual({
      'X-User': '<redacted>',
      x_needed: '<redacted>',
      'x-other': 'kept',
    });
  });
});

describe('in the URL of an upstream', () => {
  const shown = (url: string, env: Record<string, string> = {}): unknown =>
    get(redactedConfig(load(sampleWith({ 'servers[0].upstream.url': url }), env), env), 'servers[0].upstream.url');

  it.each([
    ['https://mcp.example.com/s/NTg3NDE6OWQ3ZTk0/mcp', 'https://mcp.example.com/s/<redacted>/mcp'],
    ['https://h/s/0d9c1f0e-51f7-4b1e-9d64-6f1f6c1d2a3b/mcp', 'https://h/s/<redacted>/mcp'],
    ['https://h/mcp?k=a1b2c3d4e5f6a7b8&v=1', 'https://h/mcp?k=<redacted>&v=1'],
    ['https://h/mcp?a1b2c3d4e5f6a7b8', 'https://h/mcp?<redacted>'],
  ])('a random word is a secret: %s', (url, result) => {
    expect(shown(url)).toBe(result);
  });

  it.each([
    'https://a1b2c3d4e5f6a7b8.example.com/mcp',
    'http://h/github-mcp-server-v2/2025-06-18/mcp?environment=production-2025',
    'http://h/thirtyfourthousandlowercaseletters/1234567890123456789/mcp',
  ])('other words are none: %s', (url) => {
    expect(shown(url)).toBe(url);
  });

  it('the value of a variable is a secret, unless it is a name of the server or short', () => {
    const env = { ZAP: 'open sesame', KEY: 'abracadabra', PORT: '8000', ID: 'files-server' };
    const url = 'http://h:${PORT}/${ID}/s/open%20sesame/mcp?k=${KEY}&v=${PORT}';
    const one = load(sampleWith({ 'servers[0].upstream.url': url, 'servers[0].id': 'files-server' }), env);
    expect(get(redactedConfig(one, env), 'servers[0].upstream.url')).toBe(
      'http://h:8000/files-server/s/<redacted>/mcp?k=<redacted>&v=8000',
    );
    const { text } = redactionOf(one, env);
    expect(text('abracadabra, open sesame and /s/open%20sesame')).toBe('<redacted>, <redacted> and /s/<redacted>');
    expect(text('files-server')).toBe('files-server');
  });
});

describe('redactedConfig', () => {
  const redacted = redactedConfig(config);

  it('contains none of the secrets', () => {
    const text = JSON.stringify(redacted);
    for (const secret of secretsOf(config)) expect(text).not.toContain(secret);
  });

  it.each([
    ['core.auth.token', '<redacted>'],
    ['core.auth.signing_secret', '<redacted>'],
    ['telemetry.endpoint', 'https://<redacted>@collector/v1/metrics'],
    ['telemetry.logs_endpoint', 'https://<redacted>@collector/v1/logs?api-key=<redacted>'],
    ['telemetry.traces.endpoint', 'https://<redacted>@collector/v1/traces'],
    ['telemetry.headers', { 'X-Honeycomb-Team': '<redacted>' }],
    ['state_persistence.redis.password', '<redacted>'],
    ['state_persistence.redis.username', 'adapter'],
    ['servers[0].upstream.url', 'https://<redacted>@files/mcp?tenant=acme&access_token=<redacted>'],
    ['servers[0].upstream.static_headers.X-Team', '<redacted>'],
    ['servers[0].upstream.static_headers.Authorization', '<redacted>'],
    ['servers[0].disabled_tools', ['x-<redacted>-y', '<redacted>']],
  ])('shows %s as %j', (path, value) => {
    expect(get(redacted, path)).toEqual(value);
  });

  it('changes nothing in a configuration without secrets', () => {
    const plain = load(sample());
    expect(redactedConfig(plain)).toEqual(plain);
  });

  it('leaves the configuration as it was', () => {
    expect(config.core.auth.token).toBe('adapter-token-1');
  });

  it('hides short secrets where they belong, and does not tear other values apart', () => {
    const short = redactedConfig(load(sampleWith({ 'core.auth': { token: 'mcp' } })));
    expect(get(short, 'core.auth.token')).toBe('<redacted>');
    expect(get(short, 'servers[0].mount_path')).toBe('/mcp');
  });
});

describe('redactUrl', () => {
  it.each([
    ['http://host/path', 'http://host/path'],
    ['http://user@host/', 'http://<redacted>@host/'],
    ['http://user:p@ss@host/', 'http://<redacted>@host/'],
    ['http://host/@scope/x?y=a@b', 'http://host/@scope/x?y=a@b'],
    ['user:pw@collector:4317', '<redacted>@collector:4317'],
    ['collector:4317', 'collector:4317'],
    ['http://h/?token=a&x=1&SIG=b#f', 'http://h/?token=<redacted>&x=1&SIG=<redacted>#f'],
    ['http://h/?apiKey=a&token', 'http://h/?apiKey=<redacted>&token'],
    ['http://h/?key=', 'http://h/?key='],
    ['', ''],
  ])('%s becomes %s', (url, result) => {
    expect(redactUrl(url)).toBe(result);
  });

  it.each([
    ['http://host/?x=1', []],
    ['http://user@host/', ['user', 'user']],
    ['http://user:@host/', []],
    ['http://u:a%ZZ@host/?key=%20', ['a%ZZ', 'a%ZZ', '%20', ' ']],
  ])('takes out of %s: %j', (url, found) => {
    expect(secretsInUrl(url)).toEqual(found);
  });
});

describe('looksSecret', () => {
  it.each([
    'Authorization',
    'X-Api-Key',
    'apikey',
    'x-auth',
    'Cookie',
    'accessToken',
    'client_secret',
    'X-Amz-Signature',
    'sig',
    'pwd',
    'session-id',
  ])('%s does', (name) => expect(looksSecret(name)).toBe(true));

  it.each(['Accept', 'X-Team', 'tenant', 'keyboard', 'author', 'monkey', 'design', 'compat'])('%s does not', (name) => {
    expect(looksSecret(name)).toBe(false);
  });
});
