import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { ProtectedResource } from './protected-resource.ts';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';
const GOOD = { resource: 'r', authorization_servers: ['https://as.example'] };

describe('I2: what an upstream says of itself as a protected resource', () => {
  let http: Server;
  let origin: string;
  let reads: string[];
  let answer: (path: string, res: ServerResponse) => void;
  let resource: ProtectedResource;
  let now = 0;

  beforeEach(async () => {
    [reads, now] = [[], 0];
    http = createServer((req, res) => {
      reads.push(`${req.url} ${req.headers.authorization}`);
      answer(req.url ?? '', res);
    });
    await new Promise<void>((resolve) => void http.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    resource = new ProtectedResource({ url: `${origin}/mcp/?key=k3y`, insecureTls: false, now: () => now });
  });
  afterEach(async () => {
    await resource.close();
    http.closeAllConnections();
    http.close();
  });

  const says = (place: string, body: unknown): void => {
    answer = (path, res) => {
      if (path === place) res.end(typeof body === 'string' ? body : JSON.stringify(body));
      else res.writeHead(404).end();
    };
  };

  test('is looked for below its path and at its root, without credentials, and kept', async () => {
    says(WELL_KNOWN, GOOD);
    expect(await Promise.all([resource.metadata(), resource.metadata()])).toEqual([
      { authorization_servers: ['https://as.example'] },
      { authorization_servers: ['https://as.example'] },
    ]);
    expect(reads).toEqual([`${WELL_KNOWN}/mcp undefined`, `${WELL_KNOWN} undefined`]);
    now += 299_000;
    await resource.metadata();
    expect(reads).toHaveLength(2);
    now += 2_000;
    await resource.metadata();
    expect(reads).toHaveLength(4);
  });

  test('is read where a challenge names it, but on no other origin', async () => {
    says('/elsewhere', GOOD);
    resource.learn('https://other.example/elsewhere');
    resource.learn('nonsense');
    expect(await resource.metadata()).toBeUndefined();
    expect(reads).toHaveLength(2);
    resource.learn(`${origin}/elsewhere`);
    expect(await resource.metadata()).toEqual({ authorization_servers: ['https://as.example'] });
    expect(reads).toHaveLength(3);
  });

  test('is not sought where a redirect leads', async () => {
    answer = (path, res) => {
      if (path === '/other') res.end(JSON.stringify(GOOD));
      else res.writeHead(307, { location: '/other' }).end();
    };
    expect(await resource.metadata()).toBeUndefined();
    expect(reads.some((read) => read.startsWith('/other'))).toBe(false);
  });

  test.each<[string, unknown, unknown]>([
    ['nothing of JSON', '<html>', undefined],
    ['no object', 'null', undefined],
    ['no server', { ...GOOD, authorization_servers: [] }, undefined],
    ['no address', { ...GOOD, authorization_servers: ['javascript:x', 'as', 7] }, undefined],
    ['too much', { ...GOOD, resource_name: 'x'.repeat(65 << 10) }, undefined],
    ['too many values', `[${'[],'.repeat(10_000)}[]]`, undefined],
    [
      'what only it may say',
      { ...GOOD, jwks_uri: 'https://keys', signed_metadata: 'jwt', resource_name: 'Team', scopes_supported: ['a', 7] },
      { authorization_servers: ['https://as.example'], resource_name: 'Team', scopes_supported: ['a'] },
    ],
  ])('that is %s', async (_name, body, relayed) => {
    says(WELL_KNOWN, body);
    expect(await resource.metadata()).toEqual(relayed);
  });
});
