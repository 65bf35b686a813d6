import { z } from 'zod';
import { hostName } from '../values/network-values.ts';
import { flag, integer, maybeEmpty, oneOf, seconds, text, trimmed, trimmedOrNull } from '../values/values.ts';

/**
 * Section `state_persistence` of the adapter's file: where metadata (not file bytes) is kept.
 * Source: adapter specification, section 2.3.
 */

const Reconciliation = z.strictObject({
  mode: oneOf(['disabled', 'if_empty', 'always'])
    .describe(
      'Scan of `storage.root` at start for files without metadata: `disabled` never, `if_empty` only when there are ' +
        'no sessions and no tombstones, `always` at every start, adding only what is new.',
    )
    .prefault('if_empty'),
  legacy_server_id: trimmed('the id of a configured server, or null')
    .describe(
      'Id of the server that owns files whose owner cannot be determined. Null: the only server; with several, such ' +
        'sessions are skipped, and as long as there are any, no orphans are removed.',
    )
    .nullable()
    .prefault(null),
});

const Disk = z.strictObject({
  local_path: trimmed()
    .describe(
      'SQLite file; missing folders are created. Null: `state/adapter_state.sqlite3` under `storage.root`. With type ' +
        '`memory`, snapshots are written here only when it is set.',
    )
    .nullable()
    .prefault(null),
  wal: maybeEmpty(
    z
      .strictObject({
        enabled: flag()
          .describe('Use a write-ahead log. False, for file systems that cannot: journal mode DELETE.')
          .prefault(true),
      })
      .prefault({}),
  ).describe('Write-ahead log of SQLite.'),
});

const Redis = z.strictObject({
  host: hostName().describe('Host name or IP address. Required when `type` is `redis`.').nullable().prefault(null),
  port: integer({ min: 1, max: 65_535 }).describe('TCP port.').prefault(6379),
  db: integer({ min: 0 }).describe('Index of the logical database.').prefault(0),
  username: trimmedOrNull().describe('ACL user name.').prefault(null),
  password: text().describe('Password. Null or empty: none.').nullable().prefault(null),
  tls: flag().describe('(new) Use TLS and verify the certificate.').prefault(false),
  tls_insecure: flag()
    .describe('Use TLS without verifying the certificate, also when `tls` is false. For development only.')
    .prefault(false),
  key_base: trimmed().describe('Prefix of all keys.').prefault('mcp_remote_adapter'),
  ping_seconds: seconds()
    .describe('Time between two health checks, in seconds. Lasting failure triggers `unavailable_policy`.')
    .prefault(5),
  wait_seconds: seconds({ orZero: true })
    .describe(
      'How long a request waits for Redis before it fails, in seconds, so that a restart of Redis loses none. 0: it fails at once.',
    )
    .prefault(3),
});

export const StatePersistence = z.strictObject({
  type: oneOf(['memory', 'disk', 'redis'])
    .describe(
      '`memory`: in this process only. `disk`: a SQLite file, for one replica. `redis`: shared, needed for several ' +
        'replicas.',
    )
    .prefault('disk'),
  refresh_on_startup: flag()
    .describe('Start with empty metadata. Files are kept, and reconciliation mode `always` still runs.')
    .prefault(false),
  snapshot_interval_seconds: seconds()
    .describe('Time between two snapshots with type `memory` and a `disk.local_path`, in seconds.')
    .prefault(30),
  unavailable_policy: oneOf(['fail_closed', 'exit', 'fallback_memory'])
    .describe(
      'When the store fails after a good start: `fail_closed` refuses what needs state, `exit` ends the process, ' +
        '`fallback_memory` goes on in memory and saves nothing.',
    )
    .prefault('fail_closed'),
  reconciliation: maybeEmpty(Reconciliation.prefault({})).describe('Files found at start that have no metadata.'),
  disk: maybeEmpty(Disk.prefault({})).describe('Settings of type `disk`, and of snapshots with type `memory`.'),
  redis: maybeEmpty(Redis.prefault({})).describe('Settings of type `redis`.'),
});
export type StatePersistence = z.output<typeof StatePersistence>;
