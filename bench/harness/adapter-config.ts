import { mounts } from '../floors/mounts.ts';

export type StateType = 'memory' | 'disk' | 'redis';

export interface AdapterConfigOptions {
  readonly port: number;
  readonly storage: string;
  readonly state: StateType;
  /** Required for the state type `redis`. */
  readonly redisPort?: number;
  /** Origin of the upstream. */
  readonly upstream: string;
  /** More fields, by their sections. */
  readonly extra?: Readonly<Record<string, object>> | undefined;
}

/**
 * The configuration of a measured adapter: the defaults (pinning, sanitising, ping), with one tool of each adapter type
 * on the main server, so that the steps of a tool call are in place. JSON is YAML.
 */
export function adapterConfig(options: AdapterConfigOptions): string {
  const { port, storage, state, redisPort, upstream, extra = {} } = options;
  return JSON.stringify({
    ...extra,
    core: { host: '127.0.0.1', port, ...extra['core'] },
    storage: { root: storage, ...extra['storage'] },
    state_persistence: {
      ...extra['state_persistence'],
      type: state,
      ...(state === 'redis' ? { redis: { host: '127.0.0.1', port: redisPort } } : {}),
    },
    servers: [...mounts].map(([mountPath, upstreamPath]) => ({
      id: mountPath.slice(mountPath.lastIndexOf('/') + 1),
      mount_path: mountPath,
      upstream: { url: `${upstream}${upstreamPath}` },
      ...(mountPath === '/mcp/main' ? { adapters: fileTools } : {}),
    })),
  });
}

const fileTools = [
  { type: 'upload_consumer', tools: ['read_file'], file_path_argument: 'path' },
  { type: 'artifact_producer', tools: ['write_file'], output_path_argument: 'path' },
];
