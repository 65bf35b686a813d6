import { z } from 'zod';
import { bytes } from '../values/bytes.ts';
import { baseUrlOrNull } from '../values/network-values.ts';
import {
  flag,
  integer,
  listOf,
  maybeEmpty,
  oneOf,
  orNull,
  seconds,
  text,
  trimmed,
  trimmedAnd,
} from '../values/values.ts';

/** Names of buckets on AWS, and the wider ones that other servers know. */
const isBucket = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{2,62}$/.test(name) && !name.includes('..');

const PREFIX = 'the start of keys, such as adapter/, of at most 512 bytes and without empty, . and .. parts';

/** Servers that keep objects in folders would read these parts as ways through them. */
const isPrefix = (prefix: string): boolean =>
  !/\p{Cc}|\p{Cs}/u.test(prefix) &&
  Buffer.byteLength(prefix) <= 512 &&
  prefix
    .split('/')
    .every((part, index, parts) => (part === '' ? index === parts.length - 1 : part !== '.' && part !== '..'));

/** Object storage for file bytes: Amazon S3, or a server that speaks its protocol. */
const S3 = z.strictObject({
  bucket: trimmedAnd('the name of a bucket', isBucket).describe('Name of the bucket, which must exist.'),
  prefix: text(PREFIX)
    .refine(isPrefix, { error: PREFIX })
    .describe('Start of the keys of all objects, such as `adapter/`.')
    .prefault(''),
  endpoint: baseUrlOrNull().describe('URL of the server. Null: Amazon S3 in `region`.').prefault(null),
  public_endpoint: baseUrlOrNull()
    .describe(
      'URL of the same server in presigned URLs, where clients or upstreams reach it under another name. Null: `endpoint`.',
    )
    .prefault(null),
  region: trimmed('the name of a region, such as us-east-1')
    .describe('Region that requests are signed for.')
    .prefault('us-east-1'),
  force_path_style: orNull(
    flag().describe(
      'Put the name of the bucket into the path of URLs rather than into their host. Null: true when `endpoint` is set.',
    ),
  ).prefault(null),
  presign_ttl_seconds: integer({ min: 1, max: 604_800 })
    .describe('How long a presigned URL can be used, in seconds.')
    .prefault(900),
});
export type S3 = z.output<typeof S3>;

/** Section `storage` of the adapter's file: where file bytes are kept. Source: adapter specification, section 2.4. */
export const Storage = z.strictObject({
  root: trimmed()
    .describe('Folder of uploaded and captured files. Persistent, and shared by all replicas and upstreams.')
    .prefault('/data/shared'),
  access: oneOf(['owner', 'group', 'all'])
    .describe(
      '(new) Who may read and write folders and files under `root`: `owner`, the user of the adapter only; `group`, also ' +
        'its group, such as the `fsGroup` that pods share; `all`, every user.',
    )
    .prefault('group'),
  layout: oneOf(['shared', 'per_server'])
    .describe(
      '(new) Where files lie under `root`: `shared`, those of all servers in `uploads/sessions` and `artifacts/sessions`; ' +
        "`per_server`, each server's in `uploads/{id}/sessions` and `artifacts/{id}/sessions`, so that an upstream can be " +
        'given its own two folders only. Files that lie as the other value says are still found.',
    )
    .prefault('shared'),
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
      "Where a file may lie that a tool names in its answer: `storage_only` in its session's folders under `root`, " +
        '`allow_configured_roots` also under `artifact_locator_allowed_roots`, which may be a folder of `root`.',
    )
    .prefault('storage_only'),
  artifact_locator_allowed_roots: maybeEmpty(listOf(text()).prefault([]))
    .transform((roots) => roots.map((root) => root.trim()).filter((root) => root !== ''))
    .describe('More folders that files may be taken from. Required when the policy is `allow_configured_roots`.'),
  s3: S3.describe(
    '(new) Also keep uploads and artifacts in a bucket. Downloads are then redirected to presigned URLs of it, and replicas ' +
      'need no common folder. Credentials come from the environment only (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and ' +
      'what else the AWS SDK knows; on Kubernetes its other sources need `networkPolicy.extraEgress`); they need `s3:ListBucket`, `s3:GetObject`, `s3:PutObject` and `s3:DeleteObject`, and ' +
      '`s3:AbortMultipartUpload` and `s3:ListBucketMultipartUploads` to clean up behind large files. Null: files are ' +
      'under `root` only.',
  )
    .nullable()
    .prefault(null),
});
export type Storage = z.output<typeof Storage>;
