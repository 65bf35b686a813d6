import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Fence, Ledger } from '../ledger.ts';
import { BEAT, CLAIM, LEAVE } from '../redis-assignment-scripts.ts';
import { RedisConnection } from '../redis-connection.ts';
import { RedisKeys } from '../redis-keys.ts';
import { RedisLedger } from '../redis-ledger.ts';
import { SqliteLedger } from '../sqlite-ledger.ts';
import { startRedis } from './redis-server.ts';
import type { TestRedis } from './redis-server.ts';

/** Two clients of one empty ledger. */
export interface LedgerClients {
  readonly a: Ledger;
  readonly b: Ledger;
  /** Makes somebody new the owner of a source, whose proof it returns. */
  own(source: string): Promise<Fence>;
  close(): Promise<void>;
}

export interface LedgerTechnology {
  readonly name: string;
  start?(): Promise<void>;
  stop?(): Promise<void>;
  connect(): Promise<LedgerClients>;
}

const sqlite: LedgerTechnology = {
  name: 'SqliteLedger',
  connect: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ledger-'));
    const settings = { path: join(folder, 'state', 'ledger.db'), lockRetries: 20, lockBackoffMs: 1 };
    const [a, b] = [new SqliteLedger(settings), new SqliteLedger(settings)];
    return {
      a,
      b,
      own: async () => ({ token: 0n }),
      close: async () => {
        await Promise.all([a.close(), b.close()]);
        await rm(folder, { recursive: true });
      },
    };
  },
};

/** Two connections to one redis-server, each test under its own prefix. */
function redis(): LedgerTechnology {
  let running: TestRedis | undefined;
  let tests = 0;
  return {
    name: 'RedisLedger',
    start: async () => {
      running = await startRedis();
    },
    stop: async () => running?.stop(),
    connect: async () => {
      if (running === undefined) throw new Error('redis-server does not run');
      const { server } = running;
      tests += 1;
      const keys = new RedisKeys(`test-${tests}:`);
      const connections = [new RedisConnection(server), new RedisConnection(server)] as const;
      await Promise.all(connections.map((connection) => connection.connect()));
      let pods = 0;
      return {
        a: new RedisLedger(connections[0], keys),
        b: new RedisLedger(connections[1], keys),
        own: (source) => claim(connections[0], keys, source, `pod-${(pods += 1)}`),
        close: async () => connections.forEach((connection) => connection.close()),
      };
    },
  };
}

/** As a pod does it that lives just long enough. */
export async function claim(connection: RedisConnection, keys: RedisKeys, source: string, pod: string): Promise<Fence> {
  await connection.run(BEAT, [keys.pods], [pod, 60_000]);
  const reply = await connection.run(CLAIM, [keys.pods, keys.owner(source)], [pod, '1']);
  await connection.run(LEAVE, [keys.pods], [pod]);
  if (!Array.isArray(reply) || reply[0] === '') throw new Error(`${source} has another owner`);
  return { token: BigInt(String(reply[0]).split(' ')[0] ?? '') };
}

/** Everything that must pass the ledger's contract. */
export const ledgers: readonly LedgerTechnology[] = [sqlite, redis()];
