import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../support/ports.ts';

const run = promisify(execFile);

const CLUSTER = join(import.meta.dirname, 'cluster');
/** Building from an empty cache takes minutes; starting takes seconds. */
const START_MS = 20 * 60_000;

export interface ApiServer extends AsyncDisposable {
  /** A kubeconfig of an administrator. */
  readonly kubeconfig: string;
  readonly url: string;
  /** kubectl with that kubeconfig; resolves with what it printed. */
  kubectl(...args: string[]): Promise<string>;
  /** As `kubectl`, with text on its standard input. */
  kubectlWith(input: string, ...args: string[]): Promise<string>;
  /** Waits until every CRD is served. */
  crdsEstablished(): Promise<void>;
  /** The folder of the server: logs, certificates, process ids. */
  readonly dir: string;
}

/** etcd and an API server of this test alone, without controllers and nodes: enough to test a reconciler. */
export async function startApiServer(): Promise<ApiServer> {
  const dir = join(await mkdtemp(join(tmpdir(), 'api-server-')), 'cluster');
  // etcd takes the port after its own too.
  const env = {
    ...process.env,
    CLUSTER_DIR: dir,
    CLUSTER_API_PORT: String(await freePort()),
    CLUSTER_ETCD_PORT: String(await freePort()),
  };
  await run(CLUSTER, ['up', 'apiserver'], { env, timeout: START_MS });
  const kubeconfig = join(dir, 'admin.kubeconfig');
  const bin =
    process.env['CLUSTER_BIN'] ??
    join(process.env['XDG_CACHE_HOME'] ?? join(process.env['HOME'] ?? '/root', '.cache'), 'cluster-bin');
  const url = /server: "([^"]+)"/.exec(await readFile(kubeconfig, 'utf8'))?.[1] ?? '';
  const kubectlWith = (input: string, ...args: string[]): Promise<string> =>
    new Promise((resolve, reject) => {
      const child = execFile(
        join(bin, 'kubectl'),
        ['--kubeconfig', kubeconfig, ...args],
        { timeout: 60_000, maxBuffer: 64 * 1024 * 1024 },
        (error, stdout, stderr) =>
          error === null ? resolve(stdout) : reject(new Error(`kubectl ${args.join(' ')}: ${stderr || error.message}`)),
      );
      child.stdin?.end(input);
    });
  return {
    kubeconfig,
    url,
    dir,
    kubectl: (...args) => kubectlWith('', ...args),
    kubectlWith,
    async crdsEstablished() {
      const wait = ['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s'];
      for (let attempt = 1; ; attempt += 1) {
        try {
          await kubectlWith('', ...wait);
          return;
        } catch (error) {
          // kubectl gives up at once on a new CRD, which has no conditions yet.
          if (attempt === 50 || !String(error).includes('conditions accessor')) throw error;
        }
      }
    },
    async [Symbol.asyncDispose]() {
      await run(CLUSTER, ['down'], { env, timeout: 60_000 });
      await rm(join(dir, '..'), { recursive: true, force: true });
    },
  };
}
