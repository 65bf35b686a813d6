import { join } from 'node:path';
import { whyNotBuilt as whyNoS3Binary } from '../../adapter/files/testing/s3-server.ts';
import { IS_OWN, isInstalled, SHARED_DIR, whyNotBuilt, whyNotThisMachine } from '../../e2e/cluster/support.ts';
import { whyNotBuilt as whyNoCollectorBinary } from '../../e2e/support/collector/collector.ts';
import { whyNotBuilt as whyNoPromtoolBinary } from '../../e2e/support/promtool/promtool.ts';
import { whyNoArgoCd } from '../../e2e/gitops/support.ts';
import { runCommand } from './command.ts';
import type { Suite } from './result.ts';

const BUILD_MS = 60 * 60_000;
const DOWN_MS = 60_000;
const STILL_MS = 60_000;

const script = (path: string): string => join(import.meta.dirname, '../../e2e', path);

interface Build {
  readonly what: string;
  readonly minutes: number;
  readonly command: readonly string[];
  readonly suites: readonly Suite[];
  /** Undefined when it is there already. */
  readonly missing: () => Promise<string | undefined>;
  /** Why it would be of no use. */
  readonly useless?: () => Promise<string | undefined>;
}

const BUILDS: readonly Build[] = [
  {
    what: 'an S3 server',
    minutes: 5,
    command: [join(import.meta.dirname, '../../adapter/files/testing/build-s3-server')],
    suites: ['heavy'],
    missing: whyNoS3Binary,
  },
  {
    what: 'an OpenTelemetry Collector',
    minutes: 5,
    command: [script('support/collector/build')],
    suites: ['heavy', 'cluster'],
    missing: whyNoCollectorBinary,
  },
  {
    what: 'promtool of Prometheus',
    minutes: 5,
    command: [script('support/promtool/build')],
    suites: ['heavy', 'cluster'],
    missing: whyNoPromtoolBinary,
  },
  {
    what: 'etcd and the API server of Kubernetes',
    minutes: 7,
    command: [script('cluster/build'), 'apiserver'],
    suites: ['heavy', 'cluster'],
    missing: () => whyNotBuilt('apiserver'),
  },
  {
    what: 'the other parts of Kubernetes',
    minutes: 8,
    command: [script('cluster/build')],
    suites: ['cluster'],
    missing: () => whyNotBuilt('all'),
    useless: whyNotThisMachine,
  },
  {
    what: 'Argo CD',
    minutes: 10,
    command: [script('gitops/argocd/argocd'), 'build'],
    suites: ['cluster'],
    missing: whyNoArgoCd,
    useless: whyNotThisMachine,
  },
];

/** Compiles what the suites need and is not there. A failure is told here; the tests then are skipped and tell it too. */
export async function buildKubernetes(
  suites: readonly Suite[],
  signal: AbortSignal,
  progress: (line: string) => void,
): Promise<void> {
  const hasGo = await isInstalled('go');
  for (const { what, minutes, command, suites: users, missing, useless } of BUILDS) {
    if (!users.some((suite) => suites.includes(suite))) continue;
    if ((await missing()) === undefined || (await useless?.()) !== undefined) continue;
    if (!hasGo) {
      progress(`left out is what needs ${what}: Go is not installed, which compiles it (https://go.dev/doc/install)`);
      continue;
    }
    progress(`compiling ${what} (${minutes} minutes on two cores, only this once)`);
    const started = performance.now();
    const heartbeat = setInterval(() => {
      progress(`still compiling, for ${Math.round((performance.now() - started) / 60_000)} min`);
    }, STILL_MS);
    const { ok, output } = await runCommand(command, {
      timeoutMs: BUILD_MS,
      signal,
      onOutput: (text) => {
        for (const [line] of text.matchAll(/^built .*$/gm)) progress(line);
      },
    });
    clearInterval(heartbeat);
    if (!ok)
      progress(`it failed, tests that need it will be skipped: ${output.trim().split('\n').slice(-3).join(' | ')}`);
  }
}

/** What tests have left that could not end by themselves. */
export async function removeCluster(suites: readonly Suite[]): Promise<void> {
  if (!suites.includes('cluster') || !IS_OWN) return;
  const env = { ...process.env, CLUSTER_DIR: SHARED_DIR };
  await runCommand([script('cluster/cluster'), 'down'], {
    timeoutMs: DOWN_MS,
    signal: new AbortController().signal,
    env,
  });
}
