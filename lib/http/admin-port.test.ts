import { once } from 'node:events';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { request } from 'node:http';

import { afterEach, describe, expect, test } from 'vitest';

import { type AdminPort, openAdminPort } from './admin-port.ts';
import { adminSettings } from './admin-settings.ts';
import { ok } from './answer.ts';
import type { ServedRequest } from './http-server.ts';

const KEY = 'b0e3b7f4-8f5e-4a7e-9a43-0d7e6f3e2a11';
const warned: object[] = [];
const nothing = (): void => {};
const logger = {
  debug: nothing,
  info: nothing,
  error: nothing,
  warn: (attributes: object) => void warned.push(attributes),
};
let open: AdminPort | undefined;

afterEach(async () => {
  await open?.close();
  warned.length = 0;
});

async function start(seen: [string, number][] = [], port = 0): Promise<string> {
  const routes = [{ method: 'GET', path: '/v1/status', answer: () => ok({ fine: true }) }] as const;
  const onRequest = ({ route, status }: ServedRequest): void => void seen.push([route, status]);
  open = await openAdminPort({ port, key: KEY }, routes, { logger, onRequest });
  return open.url ?? '';
}

/** `fetch` does not let a caller say which host it means. */
async function get(url: string, headers: Record<string, string>): Promise<number | undefined> {
  const asked = request(url, { headers, agent: false }).end();
  const [response] = (await once(asked, 'response')) as [import('node:http').IncomingMessage];
  response.resume();
  return response.statusCode;
}

const authorization = `Bearer ${KEY}`;

describe('the port for who operates the program', () => {
  test.each<[number, string, Record<string, string>]>([
    [200, 'with the key', { authorization }],
    [401, 'without the key', {}],
    [401, 'with another key', { authorization: `${authorization}1` }],
    [403, 'under a name that leads here', { authorization, host: 'rebound.example' }],
    [403, 'from a page', { authorization, origin: 'http://localhost' }],
    [403, 'from a page, without Origin', { authorization, 'sec-fetch-site': 'same-origin' }],
  ])('answers %i %s', async (status, _what, headers) => {
    const url = await start();
    expect(await get(`${url}/v1/status`, headers)).toBe(status);
  });

  test('is on the loopback address and on no other of the machine', async () => {
    const { port } = new URL(await start());
    const others = Object.values(networkInterfaces()).flatMap((all) =>
      (all ?? []).filter(({ internal, family }) => !internal && family === 'IPv4').map(({ address }) => address),
    );
    expect(others).not.toEqual([]);
    for (const address of others) {
      await expect(get(`http://${address}:${port}/v1/status`, { authorization, host: 'localhost' })).rejects.toThrow(
        'ECONNREFUSED',
      );
    }
  });

  test('counts each request by its route, never by its path', async () => {
    const seen: [string, number][] = [];
    const url = await start(seen);
    await get(`${url}/v1/status`, { authorization });
    await get(`${url}/v1/secret-path`, { authorization });
    await get(`${url}/v1/status`, {});
    expect(seen).toEqual([
      ['/v1/status', 200],
      ['', 404],
      ['', 401],
    ]);
  });

  test('is left out, with a warning, where something else has it', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as import('node:net').AddressInfo;
    expect(await start([], port)).toBe('');
    expect(warned).toEqual([expect.objectContaining({ port })]);
    taken.close();
  });
});

describe('its settings', () => {
  test('are a port and a key, or nothing', () => {
    const both = { X_ADMIN_PORT: '8933', X_ADMIN_KEY: KEY };
    expect(adminSettings('X', both)).toEqual({ port: 8933, key: KEY });
    expect(adminSettings('X', {})).toBeUndefined();
    expect(adminSettings('X', { ...both, X_ADMIN_KEY: ' ' })).toBeUndefined();
    expect(adminSettings('X', { ...both, X_ADMIN_PORT: '' })).toBeUndefined();
  });

  test.each([
    [{ X_ADMIN_PORT: '65536', X_ADMIN_KEY: KEY }, 'X_ADMIN_PORT must be'],
    [{ X_ADMIN_PORT: 'http', X_ADMIN_KEY: KEY }, 'X_ADMIN_PORT must be'],
    [{ X_ADMIN_PORT: '1', X_ADMIN_KEY: 'short' }, 'X_ADMIN_KEY must have at least 16'],
  ])('%j are refused', (env, why) => {
    expect(() => adminSettings('X', env)).toThrow(why);
  });
});
