import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

/** The real S3 server of the tests: github.com/versity/versitygw over a folder. */

const BUILD = join(import.meta.dirname, 'build-s3-server');
const BIN =
  process.env['CLUSTER_BIN'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'cluster-bin');
const PROGRAM = join(BIN, 'versitygw');
/** For `beforeAll`: the first start on a machine compiles the server. */
export const S3_START_MS = 15 * 60_000;
const ANSWER_MS = 15_000;
const POLL_MS = 20;

/** Why no S3 server can run here, for `context.skip`; undefined when one can, perhaps after it has been built. */
export async function whyNoS3Server(): Promise<string | undefined> {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  for (const folder of folders) if (await isExecutable(join(folder, 'go'))) return undefined;
  return await whyNotBuilt();
}

/** Why there is no binary of it. */
export async function whyNotBuilt(): Promise<string | undefined> {
  if (await isExecutable(PROGRAM)) return undefined;
  return `versitygw is not in ${BIN}: run adapter/files/testing/build-s3-server, which needs Go 1.26`;
}

export class TestS3 {
  readonly bucket = 'files';
  readonly endpoint: string;
  readonly accessKeyId = `K${randomBytes(8).toString('hex').toUpperCase()}`;
  readonly secretAccessKey: string;
  readonly #port: number;
  readonly #folder: string;
  #process: ChildProcess | undefined;
  #output = '';

  constructor(port: number, folder: string, secretAccessKey: string) {
    this.secretAccessKey = secretAccessKey;
    this.#port = port;
    this.#folder = folder;
    this.endpoint = `http://127.0.0.1:${port}`;
  }

  /** What a program needs in its environment to use it, and nothing of this machine's own. */
  get env(): Record<string, string> {
    return {
      AWS_ACCESS_KEY_ID: this.accessKeyId,
      AWS_SECRET_ACCESS_KEY: this.secretAccessKey,
      AWS_EC2_METADATA_DISABLED: 'true',
    };
  }

  /** The folder that holds the objects of the bucket, by their keys. */
  get objects(): string {
    return join(this.#folder, 'buckets', this.bucket);
  }

  /** Starts it, again on the same port with what it held, and waits until it answers. */
  async start(): Promise<void> {
    const [buckets, sidecar] = [join(this.#folder, 'buckets'), join(this.#folder, 'sidecar')];
    await mkdir(this.objects, { recursive: true });
    await mkdir(sidecar, { recursive: true });
    const args = ['--port', `127.0.0.1:${this.#port}`, '--quiet', 'posix', '--sidecar', sidecar, buckets];
    const { PATH, HOME } = process.env;
    const env = { PATH, HOME, ROOT_ACCESS_KEY: this.accessKeyId, ROOT_SECRET_KEY: this.secretAccessKey };
    const child = spawn(PROGRAM, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#process = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (this.#output += text));
    }
    const limit = AbortSignal.timeout(ANSWER_MS);
    for (;;) {
      const answer = await fetch(this.endpoint, { signal: limit }).catch(() => undefined);
      await answer?.body?.cancel();
      if (answer !== undefined) return;
      if (child.exitCode !== null || limit.aborted) throw new Error(`versitygw does not answer: ${this.#output}`);
      await delay(POLL_MS);
    }
  }

  /** Ends it at once, as a crash would. */
  async stop(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  /** Makes it stop answering while its connections stay open. */
  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process?.kill('SIGCONT');
  }

  /** Stops it and deletes what it held. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Starts one with an empty bucket on a free port; builds it before, where that has not been done. */
export async function startS3(secretAccessKey = randomBytes(20).toString('hex')): Promise<TestS3> {
  await promisify(execFile)(BUILD, [], { timeout: S3_START_MS });
  const folder = await mkdtemp(join(tmpdir(), 's3-'));
  const s3 = new TestS3(await freePort(), folder, secretAccessKey);
  try {
    await s3.start();
  } catch (error) {
    await s3[Symbol.asyncDispose]();
    throw error;
  }
  return s3;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

const isExecutable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
