import { describe, expect, test } from 'vitest';

import { HostNames, type HostOptions, isLoopback } from './host-names.ts';

const hosts = (options: Partial<HostOptions> = {}): HostNames =>
  new HostNames({ allowed: [], publicBaseUrl: null, boundHost: '0.0.0.0', machine: 'Box.corp.example', ...options });

test.each([
  ['127.0.0.1', true],
  ['127.255.0.3', true],
  ['localhost', true],
  ['::1', true],
  ['[::1]', true],
  ['0.0.0.0', false],
  ['::', false],
  ['10.0.0.1', false],
  ['127.0.0.1.evil.example', false],
  ['localhost.evil.example', false],
  ['1127.0.0.1', false],
])('%s is loopback: %s', (host, expected) => {
  expect(isLoopback(host)).toBe(expected);
});

describe('T13: a name', () => {
  test.each([
    ['localhost:8932', true],
    ['LOCALHOST', true],
    ['127.0.0.1:8932', true],
    ['127.1', true],
    ['[::1]:8932', true],
    ['adapter.example', true],
    ['adapter.example:8932', true],
    ['10.0.0.1', false],
    ['adapter', false],
    ['evil.example', false],
    ['localhost.evil.example', false],
    ['localhost@evil.example', false],
    ['', false],
    ['http://', false],
  ])('is checked for every request while only this machine can connect: %j %s', (host, expected) => {
    const loopback = hosts({ boundHost: '127.0.0.1', publicBaseUrl: 'https://adapter.example' });
    expect(loopback.serves(host)).toBe(expected);
    // Also when an allowed one came before, or this one did.
    loopback.serves('localhost');
    expect([loopback.serves(host), loopback.serves(host)]).toEqual([expected, expected]);
    expect(loopback.letsProbesIn).toBe(false);
  });

  test.each([
    ['10.1.2.3:8932', true],
    ['[fd00::1]:8932', true],
    ['localhost', true],
    ['adapter', true],
    ['adapter.team.svc', true],
    ['adapter.team.svc.cluster.local:8932', true],
    ['adapter.team.svc.cluster.local.', true],
    ['host.docker.internal', true],
    ['printer.local', true],
    ['box.CORP.example:8932', true],
    ['adapter.example', true],
    ['evil.example', false],
    ['evil.example.', false],
    ['svc.evil.example', false],
    ['10.1.2.3.evil.example', false],
    ['10.1.2.3@evil.example', false],
    ['local', true],
    ['', false],
  ])('that a page of the web cannot have is our own where others connect: %j %s', (host, expected) => {
    const open = hosts({ publicBaseUrl: 'https://adapter.example' });
    expect([open.isOwn(host), open.isOwn(host)]).toEqual([expected, expected]);
    // What needs a session or a signature is served as before.
    expect([open.serves(host), open.letsProbesIn]).toEqual([true, true]);
  });

  test.each([
    ['mcp.example.com', true],
    ['MCP.example.com:8443', true],
    ['deep.in.apps.example', true],
    ['apps.example', false],
    ['evilapps.example', false],
    ['one.example:8443', true],
    ['one.example:8444', false],
    ['one.example', false],
    ['10.1.2.3', true],
    ['localhost', true],
    ['public.example', true],
    ['adapter.team.svc', false],
    ['adapter', false],
    ['box.corp.example', false],
    ['evil.example', false],
  ])('is served only when it is listed, where names are listed: %j %s', (host, expected) => {
    const listed = hosts({
      allowed: ['mcp.example.com', '*.apps.example', 'one.example:8443'],
      publicBaseUrl: 'https://public.example/base',
    });
    expect([listed.serves(host), listed.isOwn(host)]).toEqual([expected, expected]);
  });

  test('may be any where that is listed, and may be absent', () => {
    expect(hosts({ allowed: ['*'] }).serves('evil.example')).toBe(true);
    expect(hosts({ allowed: ['*'], boundHost: '127.0.0.1' }).serves('evil.example')).toBe(true);
    expect(hosts({ allowed: ['a.example'] }).serves(undefined)).toBe(true);
  });
});
