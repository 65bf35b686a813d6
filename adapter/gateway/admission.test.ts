import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

import { describe, expect, test, vi } from 'vitest';

import { AdapterError } from '../errors.ts';
import type { Outcome } from '../exchange/exchange.ts';
import { sampleAccount } from '../testing/sample-account.ts';
import { createRedaction } from '../../lib/redaction/redact.ts';
import { refuseDisabled, rejectedHead, requireHeaders, requireRevision, requireSession } from './admission.ts';
import { admit } from './admitted.ts';
import type { Incoming } from './incoming.ts';
import type { Mount } from './turn.ts';
import { sampleMount } from './testing/sample-mount.ts';

const incoming = (headers: Incoming['headers']): Incoming => ({
  headers,
  reply: new ServerResponse(new IncomingMessage(new Socket())),
  request: { protocol: 'http', host: 'localhost' },
  principal: '',
  holder: sampleAccount().of({ server: 's1' }),
  facts: { requestId: 'r' },
});

describe('required headers', () => {
  const mount = sampleMount({ upstream: { client_headers: { required: ['X-Tenant', 'Authorization'] } } });

  test('must all be there and hold something', () => {
    const all = { 'x-tenant': 'blue', authorization: 'Bearer x' };
    expect(() => requireHeaders(mount, incoming(all))).not.toThrow();
    for (const [headers, name] of [
      [{ ...all, 'x-tenant': '' }, 'x-tenant'],
      [{ 'x-tenant': 'blue' }, 'authorization'],
      [{}, 'x-tenant'],
    ] as const) {
      expect(() => requireHeaders(mount, incoming(headers))).toThrow(
        new AdapterError('missing_client_header', `The header ${name} is required by this server and is missing.`),
      );
    }
    expect(() => requireHeaders(sampleMount(), incoming({}))).not.toThrow();
  });
});

test('a session id must be there and hold something', () => {
  expect(requireSession(incoming({ 'mcp-session-id': 'a' }))).toBe('a');
  for (const headers of [{}, { 'mcp-session-id': '' }, { 'mcp-session-id': ['a', 'b'] }]) {
    expect(() => requireSession(incoming(headers))).toThrow(new AdapterError('missing_session'));
  }
});

describe('a request of the half-open breaker', () => {
  /** A mount whose breaker has just let one of its two probes through. */
  function probing(): Mount {
    const mount = sampleMount({ upstream_ping: { failure_threshold: 1, open_cooldown_seconds: 30 } });
    mount.breaker.pingFailed(Date.now() - 31_000);
    return mount;
  }
  const counts = (mount: Mount): unknown => {
    const {
      state,
      half_open_probe_count: probes,
      half_open_success_count: successes,
    } = mount.breaker.snapshot(Date.now());
    return [state, probes, successes];
  };

  test.each([
    [200, ['half_open', 0, 1]],
    [404, ['half_open', 0, 1]],
    [499, ['half_open', 0, 1]],
    [500, ['open', 1, 0]],
    [503, ['open', 1, 0]],
  ])('tells it by the status: %i', (status, expected) => {
    const mount = probing();
    const admitted = admit(mount);
    expect(counts(mount)).toEqual(['half_open', 1, 0]);
    admitted.answered(status);
    admitted.answered(500);
    admitted.finished('upstream_broke');
    expect(counts(mount)).toEqual(expected);
  });

  test.each<[Outcome, unknown]>([
    ['upstream_broke', ['open', 1, 0]],
    ['timeout', ['open', 1, 0]],
    ['upstream_timeout', ['open', 1, 0]],
    ['upstream_unreachable', ['open', 1, 0]],
    // Also said of what only this client is refused.
    ['upstream_failed', ['half_open', 0, 0]],
    ['client_closed', ['half_open', 0, 0]],
    ['session_not_found', ['half_open', 0, 0]],
    ['ok', ['half_open', 0, 0]],
    ['draining', ['half_open', 0, 0]],
  ])('tells it by its end when there was no answer: %s', (outcome, expected) => {
    const mount = probing();
    const admitted = admit(mount);
    admitted.finished(outcome);
    admitted.finished('upstream_broke');
    admitted.answered(200);
    expect(counts(mount)).toEqual(expected);
  });

  test('takes one of few places', () => {
    const mount = probing();
    admit(mount);
    admit(mount);
    expect(() => admit(mount)).toThrow(
      expect.objectContaining({ code: 'upstream_unavailable', status: 503, retryAfter: 1 }) as Error,
    );
  });
});

test('the open breaker says when to come back, in whole seconds', () => {
  const mount = sampleMount({ upstream_ping: { failure_threshold: 1, open_cooldown_seconds: 30 } });
  expect(() => admit(mount).answered(500)).not.toThrow();
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 });
  mount.breaker.pingFailed(1_000_000);
  vi.setSystemTime(1_000_000 + 12_300);
  expect(() => admit(mount)).toThrow(
    expect.objectContaining({
      code: 'upstream_unavailable',
      retryAfter: 18,
      message: 'The upstream server "s1" is unhealthy; requests are rejected for now.',
    }) as Error,
  );
  vi.useRealTimers();
});

test('a disabled tool does not exist, however it is asked for', () => {
  const mount = sampleMount({ disabled_tools: ['delete_.*'] });
  const call = (name: unknown) => ({ kind: 'request', method: 'tools/call', params: { name }, idText: '1' }) as const;
  expect(() => refuseDisabled(mount, call('delete_all'))).toThrow(
    new AdapterError('unknown_tool', 'Unknown tool: delete_all'),
  );
  expect(() => refuseDisabled(mount, call(['delete_all']))).toThrow('names no tool');
  expect(() => refuseDisabled(mount, call(undefined))).toThrow('names no tool');
  expect(() => refuseDisabled(mount, call('read'))).not.toThrow();
  expect(() => refuseDisabled(sampleMount(), call(undefined))).not.toThrow();
});

test('T10: a tool whose name has invisible characters does not exist while names are looked at', () => {
  const call = { kind: 'request', method: 'tools/call', params: { name: 're\u200Bad' }, idText: '1' } as const;
  expect(() => refuseDisabled(sampleMount(), call)).toThrow(expect.objectContaining({ code: 'unknown_tool' }));
  for (const sanitization of [{ mode: 'off' }, { remove_invisible_characters: false }]) {
    expect(() => refuseDisabled(sampleMount({ tool_metadata_sanitization: sanitization }), call)).not.toThrow();
  }
});

test.each([
  [200, false, undefined],
  [202, false, undefined],
  [301, false, 'redirects to https://elsewhere/mcp'],
  [302, true, 'redirects to https://elsewhere/mcp'],
  [308, false, 'redirects to https://elsewhere/mcp'],
  [400, false, undefined],
  [401, false, "refused the adapter's credentials (HTTP 401)"],
  [403, false, "refused the adapter's credentials (HTTP 403)"],
  [401, true, undefined],
  [403, true, undefined],
  [404, false, undefined],
  [500, false, undefined],
])('HTTP %i of an upstream, to whose clients challenges are passed (%s): %s', (status, relays, message) => {
  const mount = sampleMount({
    upstream: { client_headers: { passthrough: relays ? ['Authorization'] : [], unsafe: true } },
  });
  const rejected = rejectedHead(mount, {
    status,
    headers: { location: 'https://elsewhere/mcp' },
    upstreamSessionId: null,
  });
  if (message === undefined) expect(rejected).toBeUndefined();
  else
    expect(rejected).toMatchObject({ code: 'upstream_failed', status: 502, message: expect.stringContaining(message) });
});

test('the place that an upstream redirects to is told without credentials', () => {
  const mount = sampleMount({}, { redact: createRedaction({ secrets: ['k3y-value'] }).text });
  const location = 'https://user:pw@elsewhere/mcp?api_key=abc&x=k3y-value';
  const rejected = rejectedHead(mount, { status: 302, headers: { location }, upstreamSessionId: null });
  expect(rejected?.message).toContain('https://<redacted>@elsewhere/mcp?api_key=<redacted>&x=<redacted>');
});

describe('a revision that a request names in a session', () => {
  const of = (said: string | undefined, agreed = '2025-06-18'): (() => void) => {
    const incoming = { headers: said === undefined ? {} : { 'mcp-protocol-version': said } } as Incoming;
    return () => requireRevision(incoming, { protocolVersion: agreed });
  };

  test.each([
    [undefined, '2025-06-18'],
    ['2025-06-18', '2025-06-18'],
    ['2025-03-26', '2025-11-25'],
    ['2099-01-01', '2099-01-01'],
  ])('may be %s where %s was agreed on', (said, agreed) => {
    expect(of(said, agreed)).not.toThrow();
  });

  test.each(['2024-01-01', 'x', '', '2025-06-18, 2025-06-18', '1.0'])('may not be %j', (said) => {
    expect(of(said)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        status: 400,
        message: `The MCP-Protocol-Version header says ${JSON.stringify(said)}; this session speaks 2025-06-18.`,
      }),
    );
  });
});
