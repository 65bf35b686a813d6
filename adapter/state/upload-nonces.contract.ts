import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { StateStore } from './state-store.ts';
import { DAY, MINUTE, newSession, T } from './testing/files.ts';
import { stateStores } from './testing/state-stores.ts';
import type { StoreClients } from './testing/state-stores.ts';
import type { UploadPermission } from './upload-nonces.ts';

const permission = (changes: Partial<UploadPermission> = {}): UploadPermission => ({
  serverId: 'files',
  sessionId: newSession().sessionId,
  principal: 'größe "1"',
  toolName: 'upload',
  elicitationId: null,
  expiresAt: T + MINUTE,
  ...changes,
});

for (const technology of stateStores) {
  describe(`T16: nonces and secrets of ${technology.name}`, () => {
    let clients: StoreClients;
    let a: StateStore;
    let b: StateStore;

    beforeAll(() => technology.start?.());
    afterAll(() => technology.stop?.());
    beforeEach(async () => {
      clients = await technology.connect();
      ({ a, b } = clients);
    });
    afterEach(() => clients.close());

    test('a nonce is good once, for either client', async () => {
      const [nonce, permitted] = [randomUUID(), permission()];
      expect(await a.nonces.issue(nonce, permitted, T)).toBe(true);
      expect(await b.nonces.find(nonce, T)).toEqual(permitted);
      expect(await b.nonces.find(nonce, T)).toEqual(permitted);
      expect(await b.nonces.consume(nonce, T)).toEqual(permitted);
      expect(await a.nonces.consume(nonce, T)).toBeUndefined();
      expect(await a.nonces.find(nonce, T)).toBeUndefined();
    });

    test('of 20 that use it at once one may', async () => {
      const [nonce, permitted] = [randomUUID(), permission({ toolName: null, elicitationId: 'form' })];
      await a.nonces.issue(nonce, permitted, T);
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? a : b).nonces.consume(nonce, T)),
      );
      expect(results.filter((result) => result !== undefined)).toEqual([permitted]);
    });

    test('it ends at its time and not a millisecond before', async () => {
      const nonces = [randomUUID(), randomUUID()] as const;
      for (const nonce of nonces) await a.nonces.issue(nonce, permission(), T);
      expect(await b.nonces.find(nonces[0], T + MINUTE - 1)).toBeDefined();
      expect(await b.nonces.find(nonces[0], T + MINUTE)).toBeUndefined();
      expect(await b.nonces.consume(nonces[0], T + MINUTE)).toBeUndefined();
      expect(await b.nonces.consume(nonces[1], T + MINUTE - 1)).toBeDefined();
    });

    test('a nonce that is there is not replaced, one that has expired is', async () => {
      const nonce = randomUUID();
      const [first, second] = [permission(), permission({ expiresAt: T + DAY })];
      await a.nonces.issue(nonce, first, T);
      expect(await b.nonces.issue(nonce, second, T + MINUTE - 1)).toBe(false);
      expect(await b.nonces.find(nonce, T)).toEqual(first);
      expect(await b.nonces.issue(nonce, second, T + MINUTE)).toBe(true);
      expect(await a.nonces.find(nonce, T + MINUTE)).toEqual(second);
    });

    test('an unknown nonce permits nothing', async () => {
      for (const nonce of ['', 'a\nb', '*', randomUUID()]) {
        expect(await a.nonces.find(nonce, T)).toBeUndefined();
        expect(await a.nonces.consume(nonce, T)).toBeUndefined();
      }
    });

    test('a secret is the same for all who ask, at once and later, and another for each name', async () => {
      const asked = await Promise.all(Array.from({ length: 10 }, (_, index) => (index % 2 ? a : b).secret('signing')));
      const [secret = ''] = asked;
      expect(new Set(asked)).toEqual(new Set([secret]));
      expect(Buffer.from(secret, 'base64url')).toHaveLength(32);
      expect(await b.secret('other')).not.toBe(secret);
      expect(await a.secret('signing')).toBe(secret);
    });

    test('clear discards nonces and keeps secrets', async () => {
      const nonce = randomUUID();
      await a.nonces.issue(nonce, permission(), T);
      const secret = await a.secret('signing');
      await b.clear();
      expect(await a.nonces.consume(nonce, T)).toBeUndefined();
      expect(await a.nonces.issue(nonce, permission(), T)).toBe(true);
      expect(await b.secret('signing')).toBe(secret);
    });
  });
}
