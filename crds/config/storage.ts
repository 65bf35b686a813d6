import { z } from 'zod';
import { bytes } from './bytes.ts';
import { flag, listOf, maybeEmpty, oneOf, orNull, seconds, text, trimmed } from './values.ts';

/** Section `storage` of the adapter's file: where file bytes are kept. Source: adapter specification, section 2.4. */
export const Storage = z.strictObject({
  root: trimmed()
    .describe('Folder of uploaded and captured files. Persistent, and shared by all replicas and upstreams.')
    .prefault('/data/shared'),
  max_size: orNull(
    bytes({ min: 0 }).describe('Most bytes of all files together. A write beyond it is refused. Null: no limit.'),
  ).prefault(null),
  atomic_writes: flag()
    .describe('Write to a temporary file, sync it, then rename it, so that no reader sees half a file.')
    .prefault(true),
  orphan_sweeper_enabled: flag().describe('Remove files that have no metadata.').prefault(true),
  orphan_sweeper_grace_seconds: seconds({ orZero: true })
    .describe('Age that a file without metadata must have before it is removed, in seconds.')
    .prefault(300),
  lock_mode: oneOf(['none', 'process', 'file', 'redis', 'auto'])
    .describe(
      'How writers exclude each other: `none`, `process` (this process), `file` (this host), `redis` (all replicas; ' +
        'needs state type `redis`), `auto` (`redis` with state type `redis`, else `file`).',
    )
    .prefault('auto'),
  artifact_locator_policy: oneOf(['storage_only', 'allow_configured_roots'])
    .describe(
      'Where files that tools wrote may lie: `storage_only` under `root`, `allow_configured_roots` also under ' +
        '`artifact_locator_allowed_roots`.',
    )
    .prefault('storage_only'),
  artifact_locator_allowed_roots: maybeEmpty(listOf(text()).prefault([]))
    .transform((roots) => roots.map((root) => root.trim()).filter((root) => root !== ''))
    .describe('More folders that files may be taken from. Required when the policy is `allow_configured_roots`.'),
});
export type Storage = z.output<typeof Storage>;
