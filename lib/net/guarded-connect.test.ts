import type { LookupAddress } from 'node:dns';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ANYWHERE, type ConnectRules, connectRulesFrom, guardedConnector, guardedLookup } from './guarded-connect.ts';

const IN_A_POD: ConnectRules = { loopback: false };

let server: Server;
let port: number;
let seen = 0;
/** Who asks is answered by these, one after the other. */
let names: Record<string, string[][]>;
let asked: string[];
const resolve = (
  host: string,
  _options: object,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
): void => {
  asked.push(host);
  const next = names[host]?.shift();
  // What a resolver gives besides an error is no list.
  if (next === undefined) return done(new Error(`no such name: ${host}`), undefined as never);
  done(
    null,
    next.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  );
};

beforeEach(async () => {
  [seen, names, asked] = [0, {}, []];
  server = createServer((_request, response) => {
    seen += 1;
    response.end('reached');
  });
  server.listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  ({ port } = server.address() as AddressInfo);
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

async function get(host: string, rules = ANYWHERE): Promise<string> {
  const agent = new Agent({ connect: guardedConnector({ timeout: 2000 }, rules, resolve) });
  try {
    const { body } = await request(`http://${host}:${port}/`, { dispatcher: agent });
    return await body.text();
  } catch (error) {
    return (error as Error).message;
  } finally {
    await agent.destroy();
  }
}

describe('T5: nothing connects to a metadata service or a link-local address', () => {
  test.each([
    '169.254.169.254',
    '2852039166',
    '0xa9fea9fe',
    '0251.0376.0251.0376',
    '169.254.43518',
    '[::ffff:169.254.169.254]',
    '[64:ff9b::a9fe:a9fe]',
    '[2002:a9fe:a9fe::1]',
    '[::a9fe:a9fe]',
    '[fe80::1]',
    '[fd00:ec2::254]',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
  ])('written as %s', async (host) => {
    expect(await get(host)).toMatch(/^refused: \S+ is (the|a) /);
    expect(asked).toEqual([]);
  });

  test.each(['169.254.169.254', '::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe', '100.100.100.200', 'fd20:ce::254'])(
    'as the address of a name: %s',
    async (address) => {
      names['api.example.com'] = [[address]];
      expect(await get('api.example.com')).toMatch(`refused: api.example.com resolves to ${address}, `);
    },
  );

  test('nor as one of several addresses of a name', async () => {
    names['both.example.com'] = [['127.0.0.1', '169.254.169.254']];
    expect(await get('both.example.com')).toMatch('resolves to 169.254.169.254, a link-local address');
    expect(seen).toBe(0);
  });
});

test('a name that has no address is told as such', async () => {
  expect(await get('nowhere.example.com')).toBe('no such name: nowhere.example.com');
});

test('T5: who asks for one address gets one that was checked, or none', async () => {
  names['one.example.com'] = [
    ['127.0.0.1', '::1'],
    ['127.0.0.1', '169.254.169.254'],
  ];
  const lookup = guardedLookup(ANYWHERE, resolve);
  const one = (): Promise<unknown> =>
    new Promise((done) => lookup('one.example.com', {}, (error, ...found) => done(error?.message ?? found)));
  expect(await one()).toEqual(['127.0.0.1', 4]);
  expect(await one()).toMatch('resolves to 169.254.169.254');
});

test('T5: an address is one in brackets too', async () => {
  const connect = guardedConnector({}, ANYWHERE, resolve);
  const target = { hostname: '[fe80::1]', protocol: 'http:', port: '1' };
  const refused = await new Promise((done) => connect(target, (...[error]) => done(error?.message)));
  expect(refused).toBe('refused: fe80::1 is a link-local address');
});

test('T5: a name is resolved once, and the connection goes to what was checked', async () => {
  // Whoever resolved it again would get there.
  names['rebinding.example.com'] = [['127.0.0.1'], ['169.254.169.254']];
  expect(await get('rebinding.example.com')).toBe('reached');
  expect(asked).toEqual(['rebinding.example.com']);
});

describe('T5: the machine itself', () => {
  test.each(['127.0.0.1', '2130706433', '[::ffff:127.0.0.1]'])(
    'in a pod without a sidecar, %s is refused',
    async (host) => {
      expect(await get(host, IN_A_POD)).toMatch(/^refused: \S+ is an address of the pod itself/);
      expect(seen).toBe(0);
    },
  );

  test('in such a pod, so is a name that has such an address', async () => {
    names['inside.example.com'] = [['127.0.0.1']];
    expect(await get('inside.example.com', IN_A_POD)).toBe(
      'refused: inside.example.com resolves to 127.0.0.1, an address of the pod itself, which has no sidecar (podOverlay)',
    );
    expect(seen).toBe(0);
  });

  test('elsewhere it stays allowed', async () => {
    names['localhost'] = [['127.0.0.1']];
    expect(await get('127.0.0.1')).toBe('reached');
    expect(await get('localhost')).toBe('reached');
  });

  test('the operator says in which pods', () => {
    expect(connectRulesFrom({})).toEqual(ANYWHERE);
    expect(connectRulesFrom({ BLOCK_LOOPBACK: 'true' })).toEqual(IN_A_POD);
  });
});

describe('O17 T5: the API server', () => {
  const rules = connectRulesFrom({
    BLOCK_API_SERVER: 'kubernetes.default.svc,127.0.0.1',
    KUBERNETES_SERVICE_HOST: 'fd00:96::1',
  });

  test.each(['127.0.0.1', '2130706433', '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]', '[FD00:96:0::1]'])(
    '%s is refused in pods that may not reach it',
    async (host) => {
      expect(await get(host, rules)).toMatch(/^refused: \S+ is the API server of the cluster/);
      expect(seen).toBe(0);
    },
  );

  test('so is a name that has its address, or is one of its names', async () => {
    names['inside.example.com'] = [['127.0.0.1']];
    names['kubernetes.default.svc'] = [['10.9.9.9']];
    expect(await get('inside.example.com', rules)).toBe(
      'refused: inside.example.com resolves to 127.0.0.1, the API server of the cluster (--allow-api-server of the operator)',
    );
    expect(await get('kubernetes.default.svc', rules)).toMatch(/^refused: .* the API server/);
    expect(seen).toBe(0);
  });

  test('elsewhere it stays allowed', async () => {
    const allowed = connectRulesFrom({ KUBERNETES_SERVICE_HOST: '127.0.0.1' });
    expect(allowed).toEqual(ANYWHERE);
    expect(await get('127.0.0.1', allowed)).toBe('reached');
  });
});

test('T17: what a connection has kept is read in steps, not joined each time', async () => {
  const { promise, resolve: made } = Promise.withResolvers<Socket>();
  const target = { hostname: '127.0.0.1', protocol: 'http:', port: String(port) };
  guardedConnector({}, ANYWHERE)(target, (error, socket) =>
    error === null ? made(socket) : expect.fail(String(error)),
  );
  const socket = await promise;
  socket.unshift(Buffer.alloc(300_000));
  const steps: number[] = [];
  for (let part; (part = socket.read() as Buffer | null) !== null;) steps.push(part.length);
  socket.destroy();
  expect(steps).toEqual([65_536, 65_536, 65_536, 65_536, 37_856]);
});
