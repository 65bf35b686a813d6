import { DatabaseSync } from 'node:sqlite';
import { tightenDatabase } from '../../lib/files/private-files.ts';
import { StateUnavailable } from './ledger.ts';

/**
 * Keeps other scrapers off a state file until the returned function is called or the process ends, however it does: a
 * lock of the operating system on an empty database beside it. People can still look into the state file.
 */
export function lockStateFile(path: string): () => void {
  tightenDatabase(`${path}.lock`);
  const lock = new DatabaseSync(`${path}.lock`);
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    throw new StateUnavailable(`another scraper uses the state file ${path}`, { cause: error });
  }
  return () => lock.close();
}
