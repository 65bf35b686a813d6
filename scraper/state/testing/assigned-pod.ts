import { createInterface } from 'node:readline';
import { RedisAssignment } from '../redis-assignment.ts';
import { RedisConnection } from '../redis-connection.ts';
import { RedisKeys } from '../redis-keys.ts';
import { RedisLedger } from '../redis-ledger.ts';
import type { Fence } from '../ledger.ts';

/*
 * A pod that only takes its sources. Arguments: port of Redis, name, number of sources. Prints `gained <source>
 * <token>` and `lost <source>`. For a line `commit <source>` on standard input it tries to commit the source's window
 * with the newest proof that it ever had, and prints `committed <source> <true or false>`.
 */

const [port, pod = '', sources] = process.argv.slice(2);
const connection = new RedisConnection({
  host: '127.0.0.1',
  port: Number(port),
  db: 0,
  username: null,
  password: null,
  ssl: false,
});
const keys = new RedisKeys('');
const ledger = new RedisLedger(connection, keys);
const fences = new Map<string, Fence>();
const print = (line: string): boolean => process.stdout.write(`${line}\n`);

await connection.connect();
const assignment = new RedisAssignment(connection, keys, {
  pod,
  clock: () => performance.now(),
  sources: () => Array.from({ length: Number(sources) }, (_, index) => `source-${index}`),
  gained: (source) => {
    const fence = assignment.fence(source);
    if (fence !== undefined) fences.set(source, fence);
    print(`gained ${source} ${fence?.token}`);
  },
  lost: async (source) => {
    print(`lost ${source}`);
  },
  onError: (error) => print(`error ${String(error)}`),
});
await assignment.start();

const [start, end] = [new Date(1000), new Date(2000)];
for await (const line of createInterface(process.stdin)) {
  const source = line.split(' ')[1] ?? '';
  const fence = fences.get(source) ?? { token: 0n };
  await ledger.plan(source, undefined, [{ start, end }], end, fence);
  const commit = { now: new Date(), fingerprints: [], ttlMs: 1000, maxEntries: 1 };
  print(`committed ${source} ${await ledger.commit(source, 'scheduled:1000-2000', commit, fence)}`);
}
await assignment.stop();
connection.close();
