import { type RunningAdapter, startAdapter } from '../../../support/adapter-process.ts';
import { type FileTools, startFileTools } from '../../../support/file-tools.ts';
import { type RedisServer, startRedis } from '../../../support/redis.ts';
import type { JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import { accessTo, merged } from '../../kit/deployment.ts';
import { sharedFolder } from './folder.ts';
import { fileConfig } from './settings.ts';
import { secret } from '../../../support/secrets/secret.ts';

export interface CrewOptions {
  readonly replicas: number;
  /** Default: with `redis`. */
  readonly state?: 'redis' | 'disk';
  /** Added to `fileConfig`. */
  readonly config?: JsonObject;
  /** `servers`, from the address of `file-tools`. Default: one, `up`, with the entries of `fileConfig`. */
  readonly servers?: (toolsUrl: string) => readonly JsonObject[];
  /** `storage.root`. Default: a folder that is deleted at the end. */
  readonly root?: string;
  /** Variables of the replicas. */
  readonly env?: NodeJS.ProcessEnv;
}

/** Replicas that share a folder and their state, before `file-tools`. */
export interface Crew extends AsyncDisposable {
  /** `storage.root`. */
  readonly root: string;
  readonly tools: FileTools;
  readonly redis: RedisServer | undefined;
  /** As they are now: `restart` replaces one. */
  readonly replicas: readonly RunningAdapter[];
  /** Replica `turn` in strict round robin. */
  at(turn: number): RunningAdapter;
  /** Starts a replica again where it was, after it has been killed; with changes in its configuration. */
  restart(index: number, changes?: JsonObject, env?: NodeJS.ProcessEnv): Promise<RunningAdapter>;
}

export async function startCrew(options: CrewOptions): Promise<Crew> {
  const { replicas: count, state = 'redis', config = {}, servers, env: variables = {} } = options;
  await using opened = new AsyncDisposableStack();
  const root = options.root ?? opened.use(await sharedFolder()).path;
  const tools = opened.use(await startFileTools());
  const redis =
    state === 'redis' ? opened.use(await startRedis({ requirepass: secret('password of Redis') })) : undefined;
  const persistence = redis === undefined ? { type: 'disk' } : { type: 'redis', redis: accessTo(redis) };
  const changes = merged({ state_persistence: persistence, ...(servers && { servers: servers(tools.url) }) }, config);
  const complete = fileConfig(root, tools.url, changes);

  const replicas: RunningAdapter[] = [];
  opened.defer(async () => void (await Promise.all(replicas.map((replica) => replica.stop()))));
  await Promise.all(
    Array.from(
      { length: count },
      async (_, index) => (replicas[index] = await startAdapter({ config: complete, env: variables })),
    ),
  );
  const at = (turn: number): RunningAdapter => {
    const replica = replicas[turn % replicas.length];
    if (replica === undefined) throw new Error('there are no replicas');
    return replica;
  };
  const running = opened.move();
  return {
    root,
    tools,
    redis,
    replicas,
    at,
    async restart(index, changes = {}, env = {}) {
      const { port } = at(index);
      await at(index).stop();
      return (replicas[index] = await startAdapter({
        config: merged(complete, changes),
        port,
        env: { ...variables, ...env },
      }));
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
