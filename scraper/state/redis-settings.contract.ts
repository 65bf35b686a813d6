import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { createServer, getCACertificates, setDefaultCACertificates, type Server } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FingerprintStore } from '../../crds/config/scraper-file/fingerprint-store.ts';
import { Authority } from '../requests/testing/certificates.ts';
import { StateUnavailable } from './ledger.ts';
import { openState } from './open-state.ts';
import { startRedis, type TestRedis } from './testing/redis-server.ts';

/** Each setting of `fingerprintStore.valkey`, and of its old name `redis`, against a real server. */

let redis: TestRedis;
let right: Record<string, unknown>;
let tlsPort: number;
const closing = new AsyncDisposableStack();

beforeAll(async () => {
  redis = await startRedis();
  closing.defer(() => redis.stop());
  await redis.use(async (client) => {
    await client.call('ACL', 'SETUSER', 'scraper', 'on', '>own password', '~own:*', '&*', '+@all');
    await client.call('ACL', 'SETUSER', 'reader', 'on', '>own password', '~own:*', '&*', '+@read', '+@connection');
  });
  const { host, port } = redis.server;
  right = { host, port, db: 3, username: 'scraper', password: 'own password', keyPrefix: 'own:' };

  const authority = await Authority.create();
  closing.defer(() => authority.remove());
  setDefaultCACertificates([...getCACertificates('default'), authority.cert]);
  const proxy = await tlsBefore(port, await authority.issue('IP:127.0.0.1'));
  closing.defer(() => void proxy.close());
  tlsPort = (proxy.address() as AddressInfo).port;
});
afterAll(() => closing.disposeAsync());

/** TLS in front of the server. */
async function tlsBefore(port: number, pair: { cert: string; key: string }): Promise<Server> {
  const proxy = createServer(pair, (socket) => {
    const plain = connect(port, '127.0.0.1');
    socket.on('error', () => plain.destroy()).pipe(plain);
    plain.on('error', () => socket.destroy()).pipe(socket);
  });
  proxy.on('tlsClientError', () => undefined);
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return proxy;
}

/** Where the state of a source goes with these settings: its key with the database, or nowhere. */
async function whereStateGoes(store: Record<string, unknown>): Promise<string> {
  await redis.use((client) => client.flushall());
  const options = { pod: 'pod', clock: () => performance.now(), onError: () => undefined };
  try {
    const state = await openState(FingerprintStore.parse(store), options);
    try {
      await state.ledger.pause('s');
    } finally {
      await state.close();
    }
  } catch (error) {
    if (error instanceof StateUnavailable) return 'nowhere';
    throw error;
  }
  return await redis.use(async (client) => {
    const found: string[] = [];
    for (const db of [0, 3, 4]) {
      await client.select(db);
      found.push(...(await client.keys('*:s')).map((key) => `${key} in ${db}`));
    }
    return found.join();
  });
}

describe.each(['valkey', 'redis'])('fingerprintStore.%s', (name) => {
  const goes = (values: Record<string, unknown> = {}): Promise<string> =>
    whereStateGoes({ backend: 'valkey', [name]: { ...right, ...values } });

  test('with all of them right the state is kept there', async () => {
    expect(await goes()).toBe('own:ledger:s in 3');
  });

  test.each<[field: string, value: unknown]>([
    ['host', '127.0.0.99'],
    ['port', 1],
    ['username', 'reader'],
    ['password', 'other password'],
    ['password', null],
    ['keyPrefix', 'other:'],
  ])('%s: with %j it is not', async (field, value) => {
    expect(await goes({ [field]: value })).toBe('nowhere');
  });

  test('db and keyPrefix say where', async () => {
    expect(await goes({ db: 4 })).toBe('own:ledger:s in 4');
    expect(await goes({ keyPrefix: 'own:2:' })).toBe('own:2:ledger:s in 3');
  });

  test('ssl: over TLS, with a certificate that is verified', async () => {
    expect(await goes({ port: tlsPort, ssl: true })).toBe('own:ledger:s in 3');
    expect(await goes({ port: tlsPort })).toBe('nowhere');
    // The certificate is for the address.
    expect(await goes({ host: 'localhost', port: tlsPort, ssl: true })).toBe('nowhere');
  });
});

test('fingerprintStore.backend: redis is another name of valkey', async () => {
  expect(await whereStateGoes({ backend: 'redis', valkey: right })).toBe('own:ledger:s in 3');
});
