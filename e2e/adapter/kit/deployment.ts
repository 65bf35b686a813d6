import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunningAdapter, startAdapter } from '../../support/adapter-process.ts';
import { type Balancer, startBalancer } from '../../support/balancer.ts';
import { type RedisOptions, type RedisServer, startRedis } from '../../support/redis.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { secret } from '../../support/secrets/secret.ts';

const PASSWORD = secret('password of Redis');
const KEY = secret('static header');

export interface DeploymentOptions {
  /** The adapter's configuration. Storage, Redis and quiet defaults (no pings, no cleanup) are added; see `complete`. */
  readonly config: JsonObject;
  readonly redis?: RedisOptions;
  /** Use this Redis, and leave it running at the end. */
  readonly sharedRedis?: RedisServer;
}

/** Two replicas of one adapter, the Redis between them, and a strict round-robin balancer before them. */
export interface Deployment extends AsyncDisposable {
  /** What both replicas store files in. */
  readonly folder: string;
  readonly redis: RedisServer;
  /** The replicas as they are now: `restart` replaces one. */
  readonly a: RunningAdapter;
  readonly b: RunningAdapter;
  readonly balancer: Balancer;
  /** Starts a replica again, where it was, after it has been killed. */
  restart(name: 'a' | 'b'): Promise<void>;
  /** One more replica of the same deployment, with changes in the configuration and variables. The caller stops it. */
  startAnother(changes: JsonObject, env?: NodeJS.ProcessEnv): Promise<RunningAdapter>;
  close(): Promise<void>;
}

export async function startDeployment(options: DeploymentOptions): Promise<Deployment> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'replicas-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  const redis = options.sharedRedis ?? opened.use(await startRedis({ requirepass: PASSWORD, ...options.redis }));
  const config = complete(options.config, redis, folder);
  const starting = [startAdapter({ config }), startAdapter({ config })] as const;
  opened.defer(async () => {
    for (const replica of await Promise.allSettled(starting)) {
      if (replica.status === 'fulfilled') await replica.value.stop();
    }
  });
  const [a, b] = await Promise.all(starting);
  const replicas = { a, b };
  const balancer = opened.use(await startBalancer([a.url, b.url]));

  const running = opened.move();
  return {
    folder,
    redis,
    balancer,
    get a() {
      return replicas.a;
    },
    get b() {
      return replicas.b;
    },
    async restart(name) {
      const { port } = replicas[name];
      await replicas[name].stop();
      replicas[name] = running.use(await startAdapter({ config, port }));
    },
    startAnother: (changes, env) => startAdapter({ config: merged(config, changes), ...(env && { env }) }),
    close: () => running.disposeAsync(),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** One entry of `servers`, mounted at `/mcp/<id>`. Its upstream is sent a secret, as most are. */
export const mounted = (id: string, upstreamUrl: string, more: JsonObject = {}): JsonObject =>
  merged(
    { id, mount_path: `/mcp/${id}`, upstream: { url: upstreamUrl, static_headers: { 'x-upstream-key': KEY } } },
    more,
  );

/** The fields of `state_persistence.redis` that lead to this server. */
export function accessTo(redis: RedisServer): JsonObject {
  const { username, password } = new URL(redis.url);
  return { host: redis.host, port: redis.port, username: username || null, password: password || null };
}

function complete(config: JsonObject, redis: RedisServer, folder: string): JsonObject {
  const defaults = {
    core: {
      max_start_wait_seconds: 0,
      cleanup_interval_seconds: null,
      shutdown_grace_seconds: 0,
      upstream_ping: { enabled: false },
    },
    state_persistence: { type: 'redis', redis: { ...accessTo(redis), key_base: `e2e:${folder}` } },
    storage: { root: folder },
  };
  return merged(defaults, config);
}

/** Objects member by member; anything else from `changes`. */
export function merged(base: JsonObject, changes: JsonObject): JsonObject {
  const result = { ...base };
  for (const [name, value] of Object.entries(changes)) {
    const isSection = typeof value === 'object' && value !== null && !Array.isArray(value);
    result[name] = isSection ? merged(asObject(base[name]), asObject(value)) : value;
  }
  return result;
}
