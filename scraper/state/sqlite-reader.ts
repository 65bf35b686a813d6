import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { substitutes, VERSION } from './sqlite-tables.ts';

/**
 * Opens a state file only to look into it, while a scraper works on it or not. Tables that it lacks, since the original
 * wrote it, are empty ones in memory.
 */
export function openSqliteReader(path: string, timeoutMs: number): DatabaseSync {
  const file = pathToFileURL(path);
  // SQLite would put two more files beside one in this mode that nobody has open, and leave them there.
  const isAlone = isWriteAhead(path) && !existsSync(`${path}-wal`);
  file.search = isAlone ? '?immutable=1' : '';
  const connection = new DatabaseSync(file, { readOnly: true, timeout: timeoutMs });
  try {
    const version = Number(connection.prepare('PRAGMA user_version').get()?.['user_version']);
    if (version > VERSION) {
      throw new Error(`the state file has version ${version}, written by a newer release; this one knows ${VERSION}`);
    }
    const tables = connection.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all();
    connection.exec(`PRAGMA temp_store = MEMORY; ${substitutes(new Set(tables.map(({ name }) => String(name))))}`);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** https://www.sqlite.org/fileformat.html, section 1.3: the version that is needed to write. */
function isWriteAhead(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(20);
    return readSync(file, header, 0, header.length, 0) === header.length && header[18] === 2;
  } finally {
    closeSync(file);
  }
}
