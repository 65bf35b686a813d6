/** One run of redis-server, wherever it runs. */
export interface RedisRun {
  /** Sends a signal; SIGTERM and SIGKILL resolve when it has ended. */
  signal(signal: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void>;
}

/** Starts redis-server with the given configuration; resolves without waiting for it to answer. */
export type LaunchRedis = (place: { folder: string; port: number; settings: readonly string[] }) => Promise<RedisRun>;
