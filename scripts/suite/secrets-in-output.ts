import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readRecords, SEARCH_DIR, type SearchRecord } from '../../e2e/support/secrets/records.ts';
import type { Suite, TestResult } from './result.ts';

/** Lets the tests of this process's children search everything that programs say for the secrets that they are given. */
export function startSearch(): Disposable & { result(suites: readonly Suite[]): TestResult | undefined } {
  const folder = mkdtempSync(join(tmpdir(), 'secrets-search-'));
  process.env[SEARCH_DIR] = folder;
  return {
    result: (suites) => searchResult(readRecords(folder), suites),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** What the search came to, as one more test; undefined where there was nothing to search. */
export function searchResult(records: readonly SearchRecord[], suites: readonly Suite[]): TestResult | undefined {
  const outputs = records.filter(({ kind }) => kind === 'output').length;
  const secrets = records.filter(({ kind }) => kind === 'secret').length;
  const found = records.filter((record) => record.kind === 'found');
  const base = { suite: 'secrets', name: `${secrets} secrets stand nowhere in ${outputs} outputs of programs` };
  if (found.length > 0) {
    const detail = found.map(({ source, secret, context }) => `${secret} in ${source}:\n${context}`).join('\n\n');
    return { ...base, name: 'secrets stand in outputs of programs', state: 'failed', detail };
  }
  if (outputs > 0 && secrets > 0) return { ...base, state: 'passed', detail: '' };
  // Otherwise it would pass for ever once it is broken.
  if (suites.includes('e2e') || suites.includes('heavy'))
    return { ...base, state: 'failed', detail: 'Nothing was searched.' };
  return undefined;
}
