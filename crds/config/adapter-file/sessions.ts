import { z } from 'zod';
import { bytes } from '../values/bytes.ts';
import { flag, integer, oneOf, orNull, seconds } from '../values/values.ts';

/** Section `sessions` of the adapter's file. Source: adapter specification, section 2.5. */
export const Sessions = z.strictObject({
  max_active: orNull(
    integer({ min: 1 }).describe('Most active sessions at a time, over all servers. Null: no limit.'),
  ).prefault(null),
  max_in_flight_per_session: orNull(
    integer({ min: 1 }).describe('Most tool calls of one session that run at the same time. Null: no limit.'),
  ).prefault(null),
  idle_ttl_seconds: orNull(
    seconds().describe(
      'A session without tool calls and uploads for this long expires, in seconds, unless a call is running. ' +
        'Null: never.',
    ),
  ).prefault(null),
  allow_revival: flag()
    .describe('Keep expired sessions as tombstones, so that their client can come back. When false, they are deleted.')
    .prefault(true),
  tombstone_ttl_seconds: seconds().describe('How long a tombstone is kept, in seconds.').prefault(86_400),
  upstream_session_termination_retries: integer({ min: 0, max: 5 })
    .describe(
      'How often a tool call is repeated, after reconnecting, when the upstream says that its session was ' +
        'terminated. Repeating a call that is not idempotent can double its effects.',
    )
    .prefault(1),
  max_total_session_size: orNull(
    bytes({ min: 0 }).describe(
      'Most bytes of uploads and artifacts of one session. Eviction is tried first. Null: no limit.',
    ),
  ).prefault(null),
  eviction_policy: oneOf(['lru_uploads_then_artifacts', 'lru_artifacts_then_uploads'])
    .describe('Which kind of file goes first when a session is too large; within a kind, the least recently used.')
    .prefault('lru_uploads_then_artifacts'),
});
export type Sessions = z.output<typeof Sessions>;
