import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { Rule } from '../../../operator/plugin/commands/command.ts';
import type { Kubectl } from '../../cluster/kubectl.ts';

const MAIN = join(import.meta.dirname, '../../../operator/plugin/main.ts');
const RUN_MS = 90_000;

export interface PluginRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** `kubectl mcpadapter …` as a process. The environment is its own, so that no other kubeconfig is found. */
export function plugin(kubeconfig: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<PluginRun> {
  return new Promise((resolve) => {
    const options = {
      timeout: RUN_MS,
      maxBuffer: 64 << 20,
      env: { PATH: process.env['PATH'], HOME: tmpdir(), KUBECONFIG: kubeconfig, ...env },
    };
    execFile(process.execPath, [MAIN, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, stdout, stderr });
    });
  });
}

/** An account of a namespace that may do what its Role says. */
export interface Account extends AsyncDisposable {
  readonly kubeconfig: string;
  /** Gives it exactly these rules instead of those it had. */
  may(rules: readonly Rule[]): Promise<void>;
}

/** A new ServiceAccount with a kubeconfig of its own, whose context has the namespace. It may do nothing yet. */
export async function newAccount(admin: Kubectl, namespace: string, name = 'operator-person'): Promise<Account> {
  const folder = await mkdtemp(join(tmpdir(), 'plugin-account-'));
  const kubeconfig = join(folder, 'kubeconfig');
  await admin.run('create', 'serviceaccount', name, '-n', namespace);
  const token = (await admin.run('create', 'token', name, '-n', namespace, '--duration=1h')).trim();
  const { clusters } = parse(await readFile(admin.kubeconfig, 'utf8')) as { clusters: { name: string }[] };
  await writeFile(
    kubeconfig,
    stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters,
      users: [{ name: 'me', user: { token } }],
      contexts: [{ name: 'here', context: { cluster: clusters[0]?.name, user: 'me', namespace } }],
      'current-context': 'here',
    }),
    { mode: 0o600 },
  );
  const where = { name, namespace };
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: where,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', ...where }],
  };
  return {
    kubeconfig,
    async may(rules) {
      const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: where, rules };
      await admin.apply([role, binding]);
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Each rule with one verb, and all rules without it: what a command must miss. */
export function withoutEach(rules: readonly Rule[]): { readonly lost: Rule; readonly rest: Rule[] }[] {
  const single = rules.flatMap((rule) => rule.verbs.map((verb) => ({ ...rule, verbs: [verb] })));
  return single.map((lost) => ({ lost, rest: single.filter((one) => one !== lost) }));
}
