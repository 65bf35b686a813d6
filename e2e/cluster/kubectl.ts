import { execFile, spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { jsonDocuments } from './json-documents.ts';

/** Where `build` puts the binaries of Kubernetes. */
export const CLUSTER_BIN =
  process.env['CLUSTER_BIN'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'cluster-bin');

const COMMAND_MS = 120_000;
const WAIT_MS = 60_000;
/** A watch that begins while the definition of its kind changes may stay silent for ever. */
const WATCH_MS = 15_000;
/** A watch is begun anew after this time, so that a broken one delays a test and does not end it. */
const WATCH_SECONDS = 15;

/** An object as `kubectl -o json` prints it. */
export interface Live {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly generation?: number;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly [member: string]: unknown;
}

/** What stands at a path of an object: `at(deployment, 'status', 'readyReplicas')`. Undefined where the path ends early. */
export function at(object: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (part, key) => (part as Record<string | number, unknown> | null | undefined)?.[key],
    object,
  );
}

export interface Wait {
  readonly namespace?: string;
  /** Default: 60 s. */
  readonly timeoutMs?: number;
}

/** kubectl with one kubeconfig. */
export class Kubectl {
  readonly kubeconfig: string;

  constructor(kubeconfig: string) {
    this.kubeconfig = kubeconfig;
  }

  /** Resolves with what it printed; rejects with what it complained about. */
  async run(...args: readonly string[]): Promise<string> {
    return await this.runWith('', ...args);
  }

  /** As `run`, with text on its standard input. */
  runWith(input: string, ...args: readonly string[]): Promise<string> {
    return execute(join(CLUSTER_BIN, 'kubectl'), ['--kubeconfig', this.kubeconfig, ...args], input);
  }

  /** `kubectl apply` of YAML text or of objects. */
  async apply(what: string | object | readonly object[], ...args: readonly string[]): Promise<string> {
    const items = Array.isArray(what) ? what : [what];
    const text = typeof what === 'string' ? what : JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    return await this.runWith(text, 'apply', '-f', '-', ...args);
  }

  /** Undefined when there is none. */
  async get(resource: string, name: string, namespace?: string): Promise<Live | undefined> {
    const text = await this.run('get', resource, name, '--ignore-not-found', '-o', 'json', ...inNamespace(namespace));
    return text === '' ? undefined : (JSON.parse(text) as Live);
  }

  async list(resource: string, namespace?: string, selector?: string): Promise<Live[]> {
    const selection = selector === undefined ? [] : ['--selector', selector];
    const where = namespace === undefined ? ['--all-namespaces'] : inNamespace(namespace);
    const text = await this.run('get', resource, '-o', 'json', ...where, ...selection);
    return (JSON.parse(text) as { items: Live[] }).items;
  }

  /**
   * Watches one object until it is as awaited, and resolves with it; it need not exist at first. Undefined stands for
   * "it does not exist". Rejects when time runs out, with the object as it was last.
   */
  async waitFor(
    resource: string,
    name: string,
    isAwaited: (object: Live | undefined) => boolean,
    { namespace, timeoutMs = WAIT_MS }: Wait = {},
  ): Promise<Live | undefined> {
    const signal = AbortSignal.timeout(timeoutMs);
    let last: Live | undefined;
    // The watch begins with what is there; it ends when the API server restarts, and then begins anew.
    while (!signal.aborted) {
      last = await this.get(resource, name, namespace).catch(() => last);
      if (isAwaited(last)) return last;
      const selection = ['--field-selector', `metadata.name=${name}`, ...inNamespace(namespace)];
      try {
        const watched = AbortSignal.any([signal, AbortSignal.timeout(WATCH_MS)]);
        for await (const event of this.#watch(resource, selection, watched)) {
          last = event.type === 'DELETED' ? undefined : event.object;
          if (isAwaited(last)) return last;
        }
      } catch {
        // Aborted, or broken off: the condition of the loop says which.
      }
    }
    const seen = last === undefined ? 'it does not exist' : JSON.stringify(withoutManagedFields(last), undefined, 2);
    throw new Error(
      `${resource} ${name} is not as awaited after ${timeoutMs / 1000} s: ${isAwaited.toString()}\n${seen}`,
    );
  }

  /** Waits for a condition in the status, of the present generation where it tells one. */
  async waitForCondition(
    resource: string,
    name: string,
    type: string,
    status: 'True' | 'False' | 'Unknown',
    wait: Wait = {},
  ): Promise<Live> {
    const isSo = (object: Live | undefined): boolean => {
      const condition = conditionOf(object, type);
      const generation = condition?.observedGeneration ?? object?.metadata.generation;
      return condition?.status === status && generation === object?.metadata.generation;
    };
    return (await this.waitFor(resource, name, isSo, wait).catch((error: Error) => {
      throw new Error(`condition ${type}=${status} of ${error.message}`);
    })) as Live;
  }

  /** Waits until all pods of a Deployment are of its newest revision and available. */
  async waitForRollout(name: string, wait: Wait = {}): Promise<Live> {
    const isDone = (object: Live | undefined): boolean =>
      object !== undefined &&
      at(object, 'status', 'observedGeneration') === object.metadata.generation &&
      ['replicas', 'updatedReplicas', 'availableReplicas'].every(
        (count) => (at(object, 'status', count) ?? 0) === at(object, 'spec', 'replicas'),
      );
    return (await this.waitFor('deployment', name, isDone, wait)) as Live;
  }

  /** What the pods of a selector, or one pod, have written. */
  async logs(podOrSelector: string, namespace: string): Promise<string> {
    const which = podOrSelector.includes('=')
      ? ['--selector', podOrSelector, '--tail=-1', '--prefix']
      : [podOrSelector];
    return await this.run('logs', '-n', namespace, '--all-containers', ...which);
  }

  /**
   * Whether an account (`NAMESPACE:NAME` of a ServiceAccount) may do this; in all namespaces without one. The resource is
   * `deployments.apps`, a subresource such as `pods/exec`, or one object: `leases.coordination.k8s.io:NAME`.
   */
  async canI(serviceAccount: string, verb: string, resource: string, namespace?: string): Promise<boolean> {
    const [, plural, group, name, subresource] =
      /^([^.:/]+)(?:\.([^:/]+))?(?::([^/]+))?(?:\/(.+))?$/.exec(resource) ?? [];
    const [home] = serviceAccount.split(':');
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: `system:serviceaccount:${serviceAccount}`,
        groups: ['system:serviceaccounts', `system:serviceaccounts:${home}`, 'system:authenticated'],
        resourceAttributes: { verb, group, resource: plural, subresource, name, namespace },
      },
    };
    // `kubectl auth can-i` answers "no" to what it does not understand.
    const answer = await this.runWith(JSON.stringify(review), 'create', '-f', '-', '-o', 'json');
    return at(JSON.parse(answer), 'status', 'allowed') === true;
  }

  async *#watch(resource: string, selection: readonly string[], signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const limit = `--request-timeout=${WATCH_SECONDS}s`;
    const args = ['get', resource, '--watch', '--output-watch-events', '-o', 'json', limit, ...selection];
    const child = spawn(join(CLUSTER_BIN, 'kubectl'), ['--kubeconfig', this.kubeconfig, ...args], {
      stdio: ['ignore', 'pipe', 'ignore'],
      signal,
    });
    // An abort is an error event too; the stream ends with it.
    child.on('error', () => undefined);
    try {
      for await (const document of jsonDocuments(child.stdout)) yield JSON.parse(document) as WatchEvent;
    } finally {
      child.kill('SIGKILL');
    }
  }
}

interface WatchEvent {
  readonly type: string;
  readonly object: Live;
}

export interface LiveCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
}

export function conditionOf(object: Live | undefined, type: string): LiveCondition | undefined {
  const conditions = at(object, 'status', 'conditions') as readonly LiveCondition[] | undefined;
  return conditions?.find((condition) => condition.type === type);
}

/** Runs a program to its end; rejects with what it wrote to stderr. */
export function execute(
  program: string,
  args: readonly string[],
  input = '',
  options: { readonly env?: NodeJS.ProcessEnv; readonly timeoutMs?: number; readonly cwd?: string } = {},
): Promise<string> {
  const { env, timeoutMs = COMMAND_MS, cwd } = options;
  return new Promise((resolve, reject) => {
    const settings = { timeout: timeoutMs, maxBuffer: 256 * 1024 * 1024, cwd, env: { ...process.env, ...env } };
    const child = execFile(program, args, settings, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${program} ${args.join(' ')}\n${stderr || stdout || error.message}`));
    });
    // It may end without reading.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

const inNamespace = (namespace: string | undefined): string[] =>
  namespace === undefined ? [] : ['--namespace', namespace];

function withoutManagedFields(object: Live): object {
  const { managedFields: _, ...metadata } = object.metadata as Live['metadata'] & { managedFields?: unknown };
  return { ...object, metadata };
}
