import { expect, test } from 'vitest';

import { SigningSecret } from './signing-secret.ts';
import { StoreUnavailable } from './state/state-store.ts';

test('the configured secret is used without asking the store', async () => {
  const secret = new SigningSecret('configured', () => Promise.reject(new Error('asked')));
  expect(secret.value).toBe('configured');
  await secret.load();
  expect(secret.value).toBe('configured');
});

test('the secret of the store is read once, and again while the store does not give it', async () => {
  let isDown = true;
  let asked = 0;
  const secret = new SigningSecret(null, async () => {
    asked++;
    if (isDown) throw new StoreUnavailable('down');
    return 'shared';
  });
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
