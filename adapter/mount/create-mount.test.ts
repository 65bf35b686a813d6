import { describe, expect, test } from 'vitest';

import { sampleMount } from '../gateway/testing/sample-mount.ts';

/** What is warned of while the mount is made. */
function warnings(server: Record<string, unknown>): string[] {
  const told: string[] = [];
  sampleMount(server, { warn: (message) => told.push(message) });
  return told;
}

describe('a mount', () => {
  test('has what its server says', () => {
    const mount = sampleMount({
      mount_path: 'team/files/',
      upstream: { client_headers: { required: ['X-Tenant'], passthrough: ['X-Tenant'] } },
      disabled_tools: ['x.*'],
      tool_defaults: { tool_call_timeout_seconds: 7 },
    });
    expect(mount).toMatchObject({
      serverId: 's1',
      path: '/team/files',
      requiredHeaders: ['x-tenant'],
      relaysChallenges: false,
    });
    expect([mount.disabled.matches('xy'), mount.timeoutOf('a'), mount.lists.enabled]).toEqual([true, 7000, true]);
    expect(mount.headers.base('DELETE', { 'x-tenant': 'blue' })).toEqual([
      'X-Tenant',
      'blue',
      'user-agent',
      'mcp-adapter/1.2.3',
    ]);
  });

  test('sends the credentials of its URL, unless a header of its own says otherwise', () => {
    const url = 'http://user:p%40ss@127.0.0.1:1/mcp';
    const basic = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
    expect(sampleMount({ upstream: { url } }).headers.base('DELETE', {})).toContain(basic);
    const own = { url, static_headers: { Authorization: 'Bearer abc' } };
    const sent = sampleMount({ upstream: own }).headers.base('DELETE', {});
    expect(sent).toContain('Bearer abc');
    expect(sent).not.toContain(basic);
  });

  test('pings unless it is told not to, with the headers that it may send without a client', () => {
    expect(sampleMount().ping?.snapshot()).toMatchObject({ interval_seconds: 15, timeout_seconds: 5 });
    expect(sampleMount({ upstream_ping: { enabled: false } }).ping).toBeUndefined();
    const own = sampleMount({ upstream_ping: { interval_seconds: 2, failure_threshold: 9, open_cooldown_seconds: 4 } });
    expect(own.ping?.snapshot()).toMatchObject({ interval_seconds: 2 });
    const rare = sampleMount({ upstream_ping: { interval_seconds: 30 * 86_400, timeout_seconds: 1e9 } });
    const longest = (2 ** 31 - 1) / 1000; // what a timer can wait
    expect(rare.ping?.snapshot()).toMatchObject({ interval_seconds: longest, timeout_seconds: longest });
    expect(own.breaker.snapshot(0)).toMatchObject({ failure_threshold: 9, open_cooldown_seconds: 4 });
  });

  test.each(['Cookie', 'Host', 'mcp-session-id', 'X-Forwarded-For', 'x-mcp-adapter-auth-token', 'Origin'])(
    'never passes %s on, and says so',
    (name) => {
      const upstream = { client_headers: { passthrough: [name, 'X-Fine'] } };
      expect(warnings({ upstream })).toEqual([`client_headers.passthrough: ${name} is never forwarded`]);
      const sent = sampleMount({ upstream }).headers.base('DELETE', { [name.toLowerCase()]: 'secret', 'x-fine': 'y' });
      expect(sent).not.toContain('secret');
      expect(sent).toContain('y');
    },
  );

  test('that passes credentials on says so, and shows clients the challenge of the upstream', () => {
    const upstream = { client_headers: { passthrough: ['AUTHORIZATION'], unsafe: true } };
    expect(warnings({ upstream })).toEqual([
      expect.stringContaining('the credentials of clients are sent to this upstream'),
    ]);
    expect(sampleMount({ upstream }).relaysChallenges).toBe(true);
  });
});
