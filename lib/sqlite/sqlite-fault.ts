// Primary result codes, https://www.sqlite.org/rescode.html
const SQLITE_ERROR = 1;
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_FULL = 13;
const SQLITE_TOOBIG = 18;
const SQLITE_CONSTRAINT = 19;
const SQLITE_MISMATCH = 20;
const SQLITE_MISUSE = 21;
const SQLITE_RANGE = 25;

/** The fault of a statement or its values; everything else is the file's. */
const OWN_FAULTS: ReadonlySet<number> = new Set([
  SQLITE_ERROR,
  SQLITE_TOOBIG,
  SQLITE_CONSTRAINT,
  SQLITE_MISMATCH,
  SQLITE_MISUSE,
  SQLITE_RANGE,
]);

/**
 * What an error of `node:sqlite` means: `busy`: another process has the file; `full`: the disk has no room;
 * `broken`: the file must be opened again; `own`: no fault of the file.
 */
export function sqliteFault(error: unknown): 'busy' | 'full' | 'broken' | 'own' {
  const code = resultCode(error);
  if (code === undefined || OWN_FAULTS.has(code)) return 'own';
  if (code === SQLITE_BUSY || code === SQLITE_LOCKED) return 'busy';
  return code === SQLITE_FULL ? 'full' : 'broken';
}

function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}
