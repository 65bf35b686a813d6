import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Cluster } from '../cluster/cluster.ts';
import { at, execute, type Live } from '../cluster/kubectl.ts';

const SCRIPT = join(import.meta.dirname, 'argocd/argocd');
const START_MS = 120_000;
const SYNC_MS = 120_000;

/** How Argo CD recognises what is its own. */
export type Tracking = 'label' | 'annotation' | 'annotation+label';

export interface Application {
  readonly name: string;
  /** Name of a repository that was published. */
  readonly repository: string;
  /** Folder in it. */
  readonly path: string;
  /** Where it applies what it finds there. */
  readonly namespace: string;
  /** Besides `CreateNamespace=true`, such as `ServerSideApply=true`. */
  readonly syncOptions?: readonly string[];
  /** Values, where the folder is a chart. */
  readonly values?: object;
}

/** A real Argo CD that looks after one cluster. One at a time. */
export class ArgoCd implements AsyncDisposable {
  readonly #cluster: Cluster;
  readonly #dir: string;

  private constructor(cluster: Cluster, dir: string) {
    this.#cluster = cluster;
    this.#dir = dir;
  }

  /** Resolves when it works. Health and actions are those of gitops/argocd. */
  static async start(cluster: Cluster, tracking: Tracking = 'label'): Promise<ArgoCd> {
    const dir = join(await mkdtemp(join(tmpdir(), 'argocd-')), 'run');
    const argo = new ArgoCd(cluster, dir);
    try {
      await argo.#script({ ARGO_TRACKING: tracking }, 'up', cluster.kubeconfig);
    } catch (error) {
      await argo[Symbol.asyncDispose]();
      throw error;
    }
    return argo;
  }

  /** Makes these files, and folders of this machine, the content of the repository. */
  async publish(
    repository: string,
    content: Readonly<Record<string, string | { readonly folder: string }>>,
  ): Promise<void> {
    const bare = join(this.#dir, 'git', `${repository}.git`);
    const work = await mkdtemp(join(tmpdir(), 'repository-'));
    const git = (...args: string[]): Promise<string> => execute('git', ['-C', work, ...args]);
    try {
      await execute('git', ['init', '--quiet', '--bare', '--initial-branch', 'main', bare]);
      await git('init', '--quiet', '--initial-branch', 'main');
      for (const [path, what] of Object.entries(content)) {
        await mkdir(dirname(join(work, path)), { recursive: true });
        if (typeof what === 'string') await writeFile(join(work, path), what);
        else await cp(what.folder, join(work, path), { recursive: true });
      }
      await git('add', '--all');
      await git('-c', 'user.name=test', '-c', 'user.email=test@example.com', 'commit', '--quiet', '-m', 'State');
      await git('push', '--quiet', '--force', bare, 'main');
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }

  /** Creates or changes an Application that syncs by itself, prunes and heals. */
  async apply({ name, repository, path, namespace, syncOptions = [], values }: Application): Promise<void> {
    await this.#cluster.apply({
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name, namespace: 'argocd' },
      spec: {
        project: 'default',
        source: {
          repoURL: `http://127.0.0.1:8390/${repository}.git`,
          targetRevision: 'main',
          path,
          ...(values === undefined ? {} : { helm: { valuesObject: values } }),
        },
        destination: { server: 'https://kubernetes.default.svc', namespace },
        syncPolicy: {
          automated: { prune: true, selfHeal: true },
          syncOptions: ['CreateNamespace=true', ...syncOptions],
        },
      },
    });
  }

  /** Has it look at the repository now, instead of within some seconds. */
  async refresh(application: string): Promise<void> {
    const annotation = 'argocd.argoproj.io/refresh=hard';
    await this.#cluster.run('-n', 'argocd', 'annotate', 'application', application, annotation, '--overwrite');
  }

  async waitFor(application: string, isAwaited: (live: Live) => boolean, timeoutMs = SYNC_MS): Promise<Live> {
    const settled = (live: Live | undefined): boolean => live !== undefined && isAwaited(live);
    const where = { namespace: 'argocd', timeoutMs };
    return (await this.#cluster
      .waitFor('applications.argoproj.io', application, settled, where)
      .catch((error: Error) => {
        throw new Error(`${isAwaited.toString()} does not hold: ${error.message}`);
      })) as Live;
  }

  /** Waits until all is applied as it stands in the repository, and healthy. */
  async waitUntilHealthy(application: string): Promise<Live> {
    return await this.waitFor(
      application,
      (live) =>
        at(live, 'status', 'sync', 'status') === 'Synced' && at(live, 'status', 'health', 'status') === 'Healthy',
    );
  }

  /** Waits until a resource of an application has this health, and resolves with its message. */
  async waitForHealth(application: string, kind: string, name: string, health: string): Promise<string> {
    const resource = (live: Live): unknown =>
      (at(live, 'status', 'resources') as { kind: string; name: string }[] | undefined)?.find(
        (one) => one.kind === kind && one.name === name,
      );
    const live = await this.waitFor(application, (app) => at(resource(app), 'health', 'status') === health);
    return (at(resource(live), 'health', 'message') as string | undefined) ?? '';
  }

  /** A crash of the application controller, and its next start. */
  async restartController(): Promise<void> {
    await this.#script({}, 'restart');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#script({}, 'down');
    await this.#cluster
      .run('delete', 'namespace', 'argocd', '--ignore-not-found', '--wait=true')
      .catch(() => undefined);
    await rm(dirname(this.#dir), { recursive: true, force: true });
  }

  #script(env: NodeJS.ProcessEnv, ...args: string[]): Promise<string> {
    return execute(SCRIPT, args, '', { timeoutMs: START_MS, env: { ...env, ARGO_DIR: this.#dir } });
  }
}
