import { z } from 'zod';
import { hostName } from '../values/network-values.ts';
import { flag, integer, maybeEmpty, nonBlank, oneOf, seconds, text, trimmedOrNull } from '../values/values.ts';

/** Section `scraper.fingerprintStore`: where progress and fingerprints are kept. */

const Sqlite = z.strictObject({
  path: nonBlank('the path of a file')
    .describe('SQLite file; missing folders are created.')
    .prefault('./scraper_fingerprints.db'),
});

const Valkey = z.strictObject({
  host: hostName().describe('Host name or IP address.').prefault('localhost'),
  port: integer({ min: 1, max: 65_535 }).describe('TCP port.').prefault(6379),
  db: integer({ min: 0 }).describe('Index of the logical database.').prefault(0),
  username: trimmedOrNull().describe('(new) ACL user name.').prefault(null),
  password: text().describe('Password. Null or empty: none.').nullable().prefault(null),
  ssl: flag().describe('Use TLS and verify the certificate.').prefault(false),
  keyPrefix: text()
    .describe('(new) Put before every key, so that several deployments can share a database.')
    .prefault(''),
});

export const FingerprintStore = z
  .strictObject({
    backend: oneOf(['sqlite', 'valkey', 'redis'])
      .describe('`sqlite`: a file, for one pod. `valkey`: a Valkey or Redis server, shared by pods; also `redis`.')
      .prefault('sqlite'),
    maxEntriesPerSource: integer({ min: 1 })
      .describe('Most fingerprints of a source that are kept; the oldest go first.')
      .prefault(50_000),
    defaultTtlSeconds: integer({ min: 1 })
      .describe('How long an unchanged record is not emitted again where a source says nothing else, in seconds.')
      .prefault(86_400),
    cleanupIntervalSeconds: integer({ min: 1 })
      .describe('Time between two removals of expired fingerprints, in seconds.')
      .prefault(3600),
    lockRetries: integer({ min: 0 }).describe('How often a write to a locked SQLite file is tried again.').prefault(5),
    lockBackoffSeconds: seconds({ orZero: true })
      .describe('Wait before the first of these attempts, in seconds; it doubles up to 1 s.')
      .prefault(0.1),
    sqlite: maybeEmpty(Sqlite.prefault({})).describe('Settings of the backend `sqlite`.'),
    valkey: maybeEmpty(Valkey.prefault({})).describe('Settings of the backend `valkey`.'),
    redis: Valkey.describe('Old name of `valkey`; takes precedence over it.').nullable().prefault(null),
  })
  .transform(({ backend, redis, ...store }) => ({
    ...store,
    backend: backend === 'redis' ? ('valkey' as const) : backend,
    valkey: redis ?? store.valkey,
  }));
export type FingerprintStore = z.output<typeof FingerprintStore>;
