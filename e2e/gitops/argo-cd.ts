import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Cluster } from '../cluster/cluster.ts';
import { at, execute, type Live } from '../cluster/kubectl.ts';

const SCRIPT = join(import.meta.dirname, 'argocd/argocd');
const START_MS = 120_000;
const SYNC_MS = 240_000;

/** How Argo CD recognises what is its own. */
export type Tracking = 'label' | 'annotation';

export interface Application {
  readonly name: string;
  /** Name of a repository that was published. */
  readonly repository: string;
  /** Folder in it. */
  readonly path: string;
  /** Where it applies what it finds there. */
  readonly namespace: string;
  /** Such as `ServerSideApply=true`. */
  readonly syncOptions?: readonly string[];
}

/** A real Argo CD that looks after one cluster. One at a time. */
export class ArgoCd implements AsyncDisposable {
  readonly #cluster: Cluster;
  readonly #dir: string;

  private constructor(cluster: Cluster, dir: string) {
    this.#cluster = cluster;
    this.#dir = dir;
  }

  /** Resolves when it works, with tracking by label. Health and actions are those of gitops/argocd. */
  static async start(cluster: Cluster): Promise<ArgoCd> {
    const dir = join(await mkdtemp(join(tmpdir(), 'argocd-')), 'run');
    const argo = new ArgoCd(cluster, dir);
    try {
      await argo.#script('up', cluster.kubeconfig);
    } catch (error) {
      await argo[Symbol.asyncDispose]();
      throw error;
    }
    return argo;
  }

  /** From now on it recognises all resources in this way. */
  async trackBy(tracking: Tracking): Promise<void> {
    const data = { 'application.resourceTrackingMethod': tracking };
    await this.#cluster.run('-n', 'argocd', 'patch', 'configmap', 'argocd-cm', '-p', JSON.stringify({ data }));
    // It takes a change of settings without this, at a time that nobody can see.
    await this.restartController();
  }

  /** Makes these files, and folders of this machine, the content of the repository. Resolves with the commit. */
  async publish(
    repository: string,
    content: Readonly<Record<string, string | { readonly folder: string }>>,
  ): Promise<string> {
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
      return (await git('rev-parse', 'HEAD')).trim();
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }

  urlOf(repository: string): string {
    return `http://127.0.0.1:8390/${repository}.git`;
  }

  /** Creates an Application that syncs by itself, prunes and heals. It goes at the end of `await using`. */
  async apply({ name, repository, path, namespace, syncOptions = [] }: Application): Promise<AsyncDisposable> {
    await this.#cluster.apply({
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name, namespace: 'argocd' },
      spec: {
        project: 'default',
        source: {
          repoURL: this.urlOf(repository),
          targetRevision: 'main',
          path,
        },
        destination: { server: 'https://kubernetes.default.svc', namespace },
        syncPolicy: { automated: { prune: true, selfHeal: true }, syncOptions },
      },
    });
    return {
      [Symbol.asyncDispose]: async () => {
        await this.#cluster.run('-n', 'argocd', 'delete', 'applications.argoproj.io', name, '--ignore-not-found');
      },
    };
  }

  /** Has it compare the repository with the cluster; resolves when it has. */
  async refresh(application: string): Promise<Live> {
    const annotation = 'argocd.argoproj.io/refresh';
    const what = ['annotate', 'applications.argoproj.io', application, `${annotation}=hard`, '--overwrite'];
    await this.#cluster.run('-n', 'argocd', ...what);
    // It takes the annotation away when it has looked.
    return await this.waitFor(application, (live) => live.metadata.annotations?.[annotation] === undefined);
  }

  /** Deletes the Application and all that it has applied. Resolves when Argo CD has done so. */
  async delete(application: string): Promise<void> {
    const finalizers = ['resources-finalizer.argocd.argoproj.io'];
    const patch = JSON.stringify({ metadata: { finalizers } });
    const which = ['applications.argoproj.io', application];
    await this.#cluster.run('-n', 'argocd', 'patch', ...which, '--type=merge', '-p', patch);
    await this.#cluster.run('-n', 'argocd', 'delete', ...which, '--wait=true', '--timeout=100s');
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

  /** Waits until all is applied as it stands in that commit, and healthy. */
  async waitUntilHealthy(application: string, commit?: string): Promise<Live> {
    return await this.waitFor(
      application,
      (live) =>
        at(live, 'status', 'sync', 'status') === 'Synced' &&
        at(live, 'status', 'health', 'status') === 'Healthy' &&
        (commit === undefined || at(live, 'status', 'sync', 'revision') === commit),
    );
  }

  /** Waits until a resource of an application has this health, and resolves with its message. */
  async waitForHealth(application: string, kind: string, name: string, health: string): Promise<string> {
    const resource = (live: Live): unknown => resourcesOf(live).find((one) => one.kind === kind && one.name === name);
    const live = await this.waitFor(application, (app) => at(resource(app), 'health', 'status') === health);
    return (at(resource(live), 'health', 'message') as string | undefined) ?? '';
  }

  /** A crash of the application controller, and its next start. */
  async restartController(): Promise<void> {
    await this.#script('restart');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#script('down');
    const quietly = (...args: string[]): Promise<unknown> => this.#cluster.run(...args).catch(() => undefined);
    // Nobody is left who would take the finalizers away.
    const applications = ((await quietly('-n', 'argocd', 'get', 'applications.argoproj.io', '-o', 'name')) ??
      '') as string;
    for (const application of applications.split('\n').filter((name) => name !== '')) {
      await quietly('-n', 'argocd', 'patch', application, '--type=merge', '-p', '{"metadata":{"finalizers":null}}');
    }
    await quietly('delete', 'namespace', 'argocd', '--ignore-not-found', '--wait=true');
    await rm(dirname(this.#dir), { recursive: true, force: true });
  }

  #script(...args: string[]): Promise<string> {
    return execute(SCRIPT, args, '', { timeoutMs: START_MS, env: { ARGO_DIR: this.#dir } });
  }
}

/** A resource of an application as its status tells it. */
export interface AppliedResource {
  readonly kind: string;
  readonly name: string;
  readonly status: string;
  readonly requiresPruning?: boolean;
}

export function resourcesOf(application: Live): readonly AppliedResource[] {
  return (at(application, 'status', 'resources') as AppliedResource[] | undefined) ?? [];
}
