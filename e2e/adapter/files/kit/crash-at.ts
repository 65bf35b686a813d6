import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { StatementSync } from 'node:sqlite';
import { Redis } from 'ioredis';

/**
 * `node --import …/crash-at.ts`: a program that is killed right before one of the steps by which it changes something outside of
 * itself: a name on the disk, Redis, or SQLite. With SIGUSR2 it reads from the file `CRASH_AT` before which one, counting from 1,
 * and says `armed` on stdout; what it does from then on is added to that file, a step a line.
 */
const file = process.env['CRASH_AT'] ?? '';
let left: number | undefined;

process.on('SIGUSR2', () => {
  left = Number(fs.readFileSync(file, 'utf8').split('\n')[0]);
  process.stdout.write('armed\n');
});

function step(what: string): void {
  if (left === undefined) return;
  left -= 1;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
  fs.appendFileSync(file, `${what}\n`);
}

type Work = (...args: unknown[]) => unknown;

/** Puts a step before every call of a function that changes something. */
function before(holder: object, name: string, changes: (args: unknown[], self: unknown) => string | undefined): void {
  const functions = holder as Record<string, Work>;
  const work = functions[name] as Work;
  functions[name] = function stepped(this: unknown, ...args: unknown[]): unknown {
    const change = changes(args, this);
    if (change !== undefined) step(change);
    return work.apply(this, args);
  };
}

const made = ([, flags]: unknown[]): string | undefined =>
  typeof flags === 'number' && (flags & fs.constants.O_CREAT) !== 0 ? 'create' : undefined;
for (const name of ['openSync', 'open']) before(fs, name, made);
before(fs, 'renameSync', () => 'rename');
for (const name of ['mkdir', 'rename', 'rmdir', 'unlink', 'link']) before(fs.promises, name, () => name);
syncBuiltinESMExports();

const HARMLESS = new Set(['ping', 'time', 'info', 'subscribe', 'publish', 'hello', 'auth', 'client', 'script']);
before(Redis.prototype, 'sendCommand', ([command]) => {
  const { name, args } = command as { name: string; args: readonly unknown[] };
  return HARMLESS.has(name) ? undefined : `redis ${name} ${String(args[2] ?? args[0])}`;
});
before(StatementSync.prototype, 'run', (_, self) =>
  (self as StatementSync).sourceSQL === 'COMMIT' ? 'sqlite commit' : undefined,
);
