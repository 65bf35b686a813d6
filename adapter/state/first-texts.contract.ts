import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { StateStore } from './state-store.ts';
import { DAY, MINUTE, T } from './testing/files.ts';
import { stateStores } from './testing/state-stores.ts';
import type { StoreClients } from './testing/state-stores.ts';

for (const technology of stateStores) {
  describe(`T10: first texts of ${technology.name}`, () => {
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

    const minute = (now: number) => ({ now, expiresAt: now + MINUTE });

    test('the first stays, for either client and by its name', async () => {
      const [name, other] = [randomUUID(), randomUUID()];
      expect(await a.firstTexts.keep(name, 'größe\n1', minute(T))).toBe('größe\n1');
      expect(await b.firstTexts.keep(name, 'second', minute(T))).toBe('größe\n1');
      expect(await b.firstTexts.keep(other, '', minute(T))).toBe('');
      expect(await a.firstTexts.keep(other, 'x', minute(T))).toBe('');
      await a.clear();
      expect(await a.firstTexts.keep(name, 'third', minute(T))).toBe('größe\n1');
    });

    test('is found by who has nothing to keep, which makes its time begin anew', async () => {
      const name = randomUUID();
      expect(await a.firstTexts.find(name, minute(T))).toBeUndefined();
      await a.firstTexts.keep(name, '', minute(T));
      const later = T + MINUTE - 1;
      expect(await b.firstTexts.find(name, minute(later))).toBe('');
      expect(await a.firstTexts.find(name, minute(later + MINUTE - 1))).toBe('');
      expect(await b.firstTexts.find(name, minute(later + 2 * MINUTE - 1))).toBeUndefined();
      expect(await a.firstTexts.keep(name, 'new', minute(later + 2 * MINUTE - 1))).toBe('new');
    });

    test('of 20 at once one wins, for all', async () => {
      const name = randomUUID();
      const got = await Promise.all(
        Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? a : b).firstTexts.keep(name, `${i}`, minute(T))),
      );
      expect(new Set(got).size).toBe(1);
    });

    test('its time begins anew with each use, and not a millisecond later another is the first', async () => {
      const name = randomUUID();
      await a.firstTexts.keep(name, 'first', minute(T));
      const later = T + MINUTE - 1;
      expect(await b.firstTexts.keep(name, 'second', minute(later))).toBe('first');
      expect(await a.firstTexts.keep(name, 'third', minute(later + MINUTE))).toBe('third');
      expect(await b.firstTexts.keep(name, 'fourth', { now: later + MINUTE, expiresAt: later + DAY })).toBe('third');
    });
  });
}
