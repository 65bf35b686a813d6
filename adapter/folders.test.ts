import { expect, test } from 'vitest';

import { foldersOf, importsOf, wrongImports } from '../lib/testing/folder-order.ts';

const ROOT = import.meta.dirname;
/** Folders and rooms in them. Each knows only those before it, and what stands in `lib/`, `crds/` and the files below. */
const ORDER = (
  'exchange/scanning exchange exchange/answers identity access catalog lock telemetry telemetry/logs telemetry/metrics telemetry/traces ' +
  'telemetry/open state state/tables state/memory state/sqlite state/redis state/availability ' +
  'state/open path upstream sessions ' +
  'files/keys files/disk files/s3 files/locks files/urls files/store files/uploads files/reconcile cleanup ' +
  'tools tools/visible lists uploads bridge/wire bridge/older bridge/newer bridge/parked bridge artifacts spill file-roles mount inspect code-mode/text code-mode/search code-mode/sandbox code-mode health ' +
  'steps steps/visible steps/sessions callers gateway http http/upload admin suggest connect assembly commands'
).split(' ');
/** Files beside the folders that know none of them; the others, `main.ts` and `app.ts`, begin and end the program. */
const FOR_ALL = ['errors.ts', 'limits.ts', 'byte-account.ts', 'caches.ts', 'sealed-text.ts'];

/** Product files in one folder. */
const MOST_FILES = 25;

test('the arrows between the folders point one way', () => {
  const ofFiles = FOR_ALL.flatMap((file) =>
    importsOf(ROOT, file).flatMap((target) => (FOR_ALL.includes(target) ? [] : [`${file} imports ${target}`])),
  );
  expect([...wrongImports(ROOT, ORDER, FOR_ALL), ...ofFiles]).toEqual([]);
});

test('each folder has its place in the order', () => {
  expect([...foldersOf(ROOT).keys()].toSorted()).toEqual(ORDER.toSorted());
});

test('a folder holds no more than one can overlook', () => {
  const counts = [...foldersOf(ROOT)].map(([folder, files]) => [folder, files.length] as const);
  expect(counts.filter(([, count]) => count > MOST_FILES)).toEqual([]);
});
