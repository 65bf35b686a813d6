import { isInstalled, PROGRAMS } from '../../e2e/cluster/support.ts';
import { runCommand } from './command.ts';
import type { Suite } from './result.ts';

/** A program that tests start, and what is done where it is missing. */
interface Requirement {
  readonly program: string;
  /** Package of Debian and Ubuntu. */
  readonly aptPackage: string;
  readonly suites: readonly Suite[];
  /** Without it tests are skipped, and say so. */
  readonly optional?: true;
  /** Whether the tests can do without the program, in another way. */
  readonly substitute?: () => Promise<boolean>;
  readonly advice: string;
}

const REQUIREMENTS: readonly Requirement[] = [
  {
    program: 'redis-server',
    aptPackage: 'redis-server',
    suites: ['contract', 'e2e', 'heavy', 'cluster'],
    substitute: dockerAnswers,
    advice: 'install Redis 7 or newer so that `redis-server` is on the PATH, or start Docker',
  },
  {
    program: 'chromium',
    aptPackage: 'chromium',
    suites: ['heavy', 'cluster'],
    advice: 'install Chromium so that `chromium` is on the PATH',
  },
  // openssl makes certificates of an API server and of a collector, too.
  ...Object.entries(PROGRAMS).map(([program, aptPackage]): Requirement => ({
    program,
    aptPackage,
    suites: program === 'openssl' ? ['contract', 'e2e', 'heavy', 'cluster'] : ['cluster'],
    optional: true,
    advice: 'without it there is no Kubernetes to test on',
  })),
  { program: 'git', aptPackage: 'git', suites: ['cluster'], optional: true, advice: 'Argo CD reads from a repository' },
];

const APT_TIMEOUT_MS = 10 * 60_000;

/**
 * Installs what the suites need and this machine lacks.
 * @throws Error that says what to install by hand
 */
export async function prepareMachine(
  suites: readonly Suite[],
  signal: AbortSignal,
  progress: (line: string) => void,
): Promise<void> {
  const needed = REQUIREMENTS.filter((requirement) => requirement.suites.some((suite) => suites.includes(suite)));
  const missing = await without(needed, ({ program }) => isInstalled(program));
  if (missing.length === 0) return;

  const names = missing.map(({ aptPackage }) => aptPackage);
  const failure = await aptInstall(names, signal, progress);
  const indispensable = missing.filter(({ optional }) => optional !== true);
  const absent = await without(indispensable, ({ program }) => isInstalled(program));
  const hopeless = await without(absent, async ({ substitute }) => (await substitute?.()) ?? false);
  if (hopeless.length === 0) return;
  const advice = hopeless.map(({ program, advice: text }) => `${program} is missing: ${text}.`);
  const command = `On Debian: apt-get update && apt-get install -y ${hopeless.map(({ aptPackage }) => aptPackage).join(' ')}`;
  throw new Error([...advice, command, ...(failure === undefined ? [] : [failure])].join('\n'));
}

/** @returns why it did not work, if it did not */
async function aptInstall(
  packages: readonly string[],
  signal: AbortSignal,
  progress: (line: string) => void,
): Promise<string | undefined> {
  if (!(await isInstalled('apt-get'))) return 'This machine has no apt-get.';
  const isRoot = process.getuid?.() === 0;
  const quick = { timeoutMs: 10_000, signal };
  if (!isRoot && !(await runCommand(['sudo', '-n', 'true'], quick)).ok) {
    return 'They were not installed here: this is not root, and sudo asks for a password.';
  }
  progress(`installing ${packages.join(' and ')} with apt-get`);
  const prefix = [...(isRoot ? [] : ['sudo', '-n']), 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get'];
  const settings = { timeoutMs: APT_TIMEOUT_MS, signal };
  // Old lists name versions that the mirror no longer has.
  await runCommand([...prefix, 'update', '-qq'], settings);
  const { ok, output } = await runCommand(
    [...prefix, 'install', '-y', '-qq', '--no-install-recommends', ...packages],
    settings,
  );
  return ok ? undefined : `apt-get failed:\n${output.trim()}`;
}

async function dockerAnswers(): Promise<boolean> {
  // Loaded only where it is needed: it takes a second.
  const { getContainerRuntimeClient } = await import('testcontainers');
  return await getContainerRuntimeClient().then(
    () => true,
    () => false,
  );
}

/** Those for which the question is answered with no. */
async function without<T>(items: readonly T[], question: (item: T) => Promise<boolean>): Promise<T[]> {
  const answers = await Promise.all(items.map(question));
  return items.filter((_, index) => answers[index] === false);
}
