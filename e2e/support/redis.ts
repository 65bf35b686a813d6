import { constants } from 'node:fs';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { LaunchRedis, RedisRun } from './launch-redis.ts';
import { freePort } from './ports.ts';
import { startProcess } from './processes.ts';

export interface RedisOptions {
  /** Every write goes to disk before the next event, so that data also survive `crash`. Default: false. */
  readonly appendonly?: boolean;
  /** Password of the default user. */
  readonly requirepass?: string;
  /** A user of an access control list. Without `requirepass` the default user is switched off. */
  readonly aclUser?: { readonly name: string; readonly password: string; readonly rules?: string };
}

export interface RedisServer extends AsyncDisposable {
  readonly host: '127.0.0.1';
  /** Stays the same over `stop` and `start`. */
  readonly port: number;
  /** With the credentials of the access control user, else of the default user. */
  readonly url: string;
  /** Resolves when it answers. Does nothing while it runs. */
  start(): Promise<void>;
  /** An orderly end, with all data kept for the next `start`. */
  stop(): Promise<void>;
  /** SIGKILL. Without `appendonly` the data since the last `stop` are lost. */
  crash(): Promise<void>;
  /** Keeps connections open and answers nothing, until `resume`. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Stops it and deletes its data. */
  close(): Promise<void>;
}

const READY_TIMEOUT_MS = 15_000;
const POLL_MS = 20;

/** A real Redis on a free port with a folder of its own: the program if it is installed, else a container. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const launch = (await isInstalled('redis-server')) ? launchProcess : await containerLauncher();
  const folder = await mkdtemp(join(tmpdir(), 'redis-'));
  const port = await freePort();
  let run: RedisRun | undefined;

  async function end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const ending = run;
    run = undefined;
    // A paused process would take a SIGTERM only after it goes on.
    await ending?.signal('SIGCONT');
    await ending?.signal(signal);
  }

  const redis: RedisServer = {
    host: '127.0.0.1',
    port,
    url: urlOf(port, options),
    async start() {
      if (run !== undefined) return;
      run = await launch({ folder, port, settings: settingsOf(options) });
      await waitUntilAnswers(port);
    },
    stop: () => end('SIGTERM'),
    crash: () => end('SIGKILL'),
    pause: async () => await run?.signal('SIGSTOP'),
    resume: async () => await run?.signal('SIGCONT'),
    async close() {
      await end('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
    [Symbol.asyncDispose]: () => redis.close(),
  };
  try {
    await redis.start();
  } catch (error) {
    await redis.close();
    throw error;
  }
  return redis;
}

const launchProcess: LaunchRedis = async ({ folder, port, settings }) => {
  const file = join(folder, 'redis.conf');
  await writeFile(file, ['bind 127.0.0.1', `port ${port}`, `dir ${folder}`, ...settings, ''].join('\n'));
  const running = startProcess('redis-server', [file]);
  return {
    async signal(signal) {
      if (running.hasExited()) return;
      if (signal === 'SIGTERM') {
        await running.stop();
        return;
      }
      running.kill(signal);
      if (signal === 'SIGKILL') await running.exited;
    },
  };
};

async function containerLauncher(): Promise<LaunchRedis> {
  try {
    // Loaded only where it is needed: it is slow to load, and useless without Docker.
    const { createContainerLauncher } = await import('./redis-container.ts');
    return await createContainerLauncher();
  } catch (cause) {
    throw new Error('install redis-server (apt-get install redis-server) or start Docker', { cause });
  }
}

async function isInstalled(command: string): Promise<boolean> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const found = await access(join(folder, command), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return true;
  }
  return false;
}

function settingsOf({ appendonly = false, requirepass, aclUser }: RedisOptions): string[] {
  const settings = [`appendonly ${appendonly ? 'yes' : 'no'}`, 'appendfsync always'];
  // A save point makes an orderly end write the data to disk.
  settings.push('save 3600 1');
  if (requirepass !== undefined) settings.push(`requirepass ${requirepass}`);
  else if (aclUser !== undefined) settings.push('user default off');
  if (aclUser !== undefined) {
    settings.push(`user ${aclUser.name} on >${aclUser.password} ${aclUser.rules ?? '~* &* +@all'}`);
  }
  return settings;
}

function urlOf(port: number, { requirepass, aclUser }: RedisOptions): string {
  const url = new URL(`redis://127.0.0.1:${port}`);
  url.username = aclUser?.name ?? '';
  url.password = aclUser?.password ?? requirepass ?? '';
  return url.href;
}

/** Any answer to PING but "loading" will do: one that asks for credentials comes from a server that is ready. */
async function waitUntilAnswers(port: number): Promise<void> {
  const deadline = AbortSignal.timeout(READY_TIMEOUT_MS);
  while (!deadline.aborted) {
    const answer = await ping(port);
    if (answer !== undefined && !answer.startsWith('-LOADING')) return;
    await delay(POLL_MS);
  }
  throw new Error(`redis-server does not answer on port ${port}`);
}

function ping(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.setTimeout(1000, () => socket.destroy());
    socket.once('data', (data) => {
      resolve(data.toString());
      socket.destroy();
    });
    socket.once('error', () => resolve(undefined));
    socket.once('close', () => resolve(undefined));
  });
}
