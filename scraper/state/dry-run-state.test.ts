import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { FingerprintStore } from '../../crds/config/scraper-file/fingerprint-store.ts';
import { openDryRunState } from './dry-run-state.ts';
import { IN_MEMORY } from './sqlite-database.ts';

test('what a dry run keeps is in no file', async () => {
  const store = FingerprintStore.parse({ sqlite: { path: '/nowhere/state.db' } });
  const state = await openDryRunState(store, { pod: 'p' });
  const at = (hour: number): Date => new Date(`2026-03-01T0${hour}:00:00Z`);
  await state.ledger.plan('s', undefined, [{ start: at(1), end: at(2) }], at(2), { token: 0n });
  expect(await state.ledger.source('s')).toMatchObject({ plannedUntil: at(2) });
  await state.close();
  expect(existsSync(IN_MEMORY)).toBe(false);
  expect(existsSync('/nowhere')).toBe(false);
});
