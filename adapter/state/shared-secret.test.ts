import { describe, expect, test } from 'vitest';

import { SharedSecret } from './shared-secret.ts';
import { StoreUnavailable } from './state-store.ts';

test('the configured secret is used without asking the store', async () => {
  const secret = new SharedSecret(
    'configured',
    () => Promise.reject(new Error('asked')),
    () => true,
  );
  expect(secret.value).toBe('configured');
  await secret.load();
  expect(secret.value).toBe('configured');
});

test('the secret of the store is read once, and again while the store does not give it', async () => {
  let isDown = true;
  let asked = 0;
  const load = async (): Promise<string> => {
    asked++;
    if (isDown) throw new StoreUnavailable('down');
    return 'shared';
  };
  const secret = new SharedSecret(null, load, () => false);
  await secret.load();
  expect(() => secret.value).toThrow(StoreUnavailable);
  await secret.load();
  isDown = false;
  expect(() => secret.value).toThrow(StoreUnavailable);
  await secret.load();
  expect(secret.value).toBe('shared');
  const before = asked;
  await secret.load();
  expect([secret.value, asked]).toEqual(['shared', before]);
});

describe('while memory replaces the store', () => {
  const inTurn = (secrets: readonly string[]): (() => Promise<string>) => {
    const rest = [...secrets];
    return async () => rest.shift() ?? 'too many';
  };

  test('its secret counts until the store is back, and then that of all replicas', async () => {
    let isFallback = true;
    const secret = new SharedSecret(null, inTurn(['own', 'shared']), () => isFallback);
    await secret.load();
    expect([secret.value, secret.value]).toEqual(['own', 'own']);
    isFallback = false;
    expect(() => secret.value).toThrow(StoreUnavailable);
    await secret.load();
    expect(secret.value).toBe('shared');
    isFallback = true;
    expect(secret.value).toBe('shared');
  });

  test.each([
    [true, false],
    [false, true],
  ])('a secret is not taken for the shared one when that changes on the way: %s, then %s', async (before, after) => {
    let isFallback = before;
    const answers = inTurn(['own', 'shared']);
    const load = async (): Promise<string> => {
      const secret = await answers();
      isFallback = after;
      return secret;
    };
    const secret = new SharedSecret(null, load, () => isFallback);
    await secret.load();
    isFallback = false;
    expect(() => secret.value).toThrow(StoreUnavailable);
  });

  test('a secret that the store gave before stays', async () => {
    let isFallback = false;
    const secret = new SharedSecret(null, inTurn(['shared']), () => isFallback);
    await secret.load();
    isFallback = true;
    await secret.load();
    expect(secret.value).toBe('shared');
  });
});
