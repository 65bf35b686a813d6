import { type RunningAdapter, startAdapter } from '../../../support/adapter-process.ts';
import { startRedis } from '../../../support/redis.ts';
import type { TestS3 } from '../../../support/s3.ts';
import type { JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import { merged } from '../../kit/deployment.ts';
import { sharedFolder } from './folder.ts';
import { fileConfig } from './settings.ts';

/** Two replicas with nothing in common but Redis and a bucket. */
export interface BucketPair {
  readonly a: RunningAdapter;
  readonly b: RunningAdapter;
  /** The `storage.root` of each. */
  readonly roots: readonly [string, string];
  /** `state_persistence` and `storage.s3` of both, for others beside them. */
  readonly shared: { readonly state_persistence: JsonObject; readonly storage: { readonly s3: JsonObject } };
}

/**
 * What is started ends with `started`.
 * @param changes as of `fileConfig`
 * @param prefix of the keys in the bucket
 */
export async function startBucketPair(
  started: AsyncDisposableStack,
  s3: TestS3,
  toolsUrl: string,
  changes: JsonObject,
  prefix?: string,
): Promise<BucketPair> {
  const redis = started.use(await startRedis());
  const bucket = { bucket: s3.bucket, endpoint: s3.endpoint, ...(prefix !== undefined && { prefix }) };
  const shared = {
    state_persistence: { type: 'redis', redis: { host: redis.host, port: redis.port } },
    storage: { s3: bucket },
  };
  const roots = [started.use(await sharedFolder()).path, started.use(await sharedFolder()).path] as const;
  const start = async (root: string): Promise<RunningAdapter> => {
    const config = fileConfig(root, toolsUrl, merged(changes, shared));
    return started.use(await startAdapter({ config, env: s3.env }));
  };
  const [a, b] = await Promise.all([start(roots[0]), start(roots[1])]);
  return { a, b, roots, shared };
}
