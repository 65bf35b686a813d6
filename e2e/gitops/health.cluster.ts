import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test as base } from 'vitest';
import { parse, stringify } from 'yaml';
import { execute } from '../cluster/kubectl.ts';
import { ARGOCD, whyNoArgoCd } from './support.ts';

/** The Lua files as Argo CD itself runs them; this needs its command line only, and no cluster. */
const SNIPPET = join(import.meta.dirname, '../../gitops/argocd/argocd-cm.yaml');

const test = base.extend<{ argocd: (what: string, object: object, ...args: string[]) => Promise<string> }>({
  argocd: async ({ skip }, use) => {
    const reason = await whyNoArgoCd();
    if (reason !== undefined) skip(reason);
    await use(async (what, object, ...args) => {
      const file = join(folder, 'resource.yaml');
      await writeFile(file, stringify(object));
      const settings = ['--argocd-cm-path', SNIPPET, '--load-cluster-settings=false'];
      return await execute(ARGOCD, ['admin', 'settings', 'resource-overrides', what, file, ...args, ...settings]);
    });
  },
});

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'health-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

interface ConditionText {
  readonly type: string;
  readonly status: string;
  readonly message?: string;
  readonly observedGeneration?: number;
}

const resource = (kind: string, observedGeneration: number | undefined, ...conditions: ConditionText[]): object => ({
  apiVersion: 'mcpadapter.io/v1alpha1',
  kind,
  metadata: { name: 'demo', namespace: 'default', generation: 2 },
  spec: {},
  ...(observedGeneration === undefined ? {} : { status: { observedGeneration, conditions } }),
});

const accepted = { type: 'Accepted', status: 'True', message: 'Accepted', observedGeneration: 2 };
const ready = { type: 'Ready', status: 'True', message: '3 of 3 pods are ready', observedGeneration: 2 };

describe.for(['McpAdapter', 'ApiScrapeSource'])('in Argo CD, a %s', (kind) => {
  const cases: [string, object, string, string][] = [
    [
      'is Progressing before the operator has seen it',
      resource(kind, undefined),
      'Progressing',
      'Waiting for the operator',
    ],
    [
      'is Progressing while the operator has seen only an older generation, however ready that was',
      resource(kind, 1, accepted, ready),
      'Progressing',
      'Waiting for the operator',
    ],
    ['is Progressing without conditions', resource(kind, 2), 'Progressing', 'Waiting for the pods'],
    [
      'is Progressing while pods start, and says what it waits for',
      resource(kind, 2, accepted, { ...ready, status: 'Unknown', message: '1 of 3 pods is ready' }),
      'Progressing',
      '1 of 3 pods is ready',
    ],
    [
      'is Progressing when only its previous generation was ready',
      resource(kind, 2, accepted, { ...ready, observedGeneration: 1 }),
      'Progressing',
      '3 of 3 pods are ready',
    ],
    ['is Healthy when it is ready', resource(kind, 2, accepted, ready), 'Healthy', '3 of 3 pods are ready'],
    [
      'is Degraded with the reason when it is not accepted, though its old pods are ready',
      resource(kind, 2, { ...accepted, status: 'False', message: 'spec.config.servers[0].id is used twice' }, ready),
      'Degraded',
      'spec.config.servers[0].id is used twice',
    ],
    [
      'is Degraded with the reason when it is stalled',
      resource(kind, 2, accepted, ready, { type: 'Stalled', status: 'True', message: 'the image cannot be pulled' }),
      'Degraded',
      'the image cannot be pulled',
    ],
    [
      'is Suspended while it is paused',
      resource(kind, 2, accepted, ready, { type: 'Paused', status: 'True', message: 'spec.paused is true' }),
      'Suspended',
      'spec.paused is true',
    ],
  ];

  test.for(cases)('%s', async ([, object, status, message], { argocd }) => {
    const output = await argocd('health', object);
    expect(output).toMatch(new RegExp(`^STATUS:\\s+${status}$`, 'm'));
    expect(output).toContain(message);
  });

  test('can be paused, resumed and restarted', async ({ argocd }) => {
    const running = resource(kind, 2, accepted, ready);
    const paused = { ...running, spec: { paused: true } };
    expect(actionsIn(await argocd('list-actions', running))).toEqual({ pause: true, restart: true, resume: false });
    expect(actionsIn(await argocd('list-actions', paused))).toEqual({ pause: false, restart: false, resume: true });
  });

  test('changes by its actions in the fields that they are about, and in no other', async ({ argocd }) => {
    const running = resource(kind, 2, accepted, ready);
    const paused = { ...running, spec: { paused: true } };
    expect(addedBy(await argocd('run-action', running, 'pause'))).toEqual(['spec:', '  paused: true']);
    expect(removedBy(await argocd('run-action', paused, 'resume'))).toEqual(['spec:', '  paused: true']);
    expect(addedBy(await argocd('run-action', running, 'restart')).join('\n')).toMatch(
      /mcpadapter\.io\/restartedAt: "\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"/,
    );
  });
});

test('the snippet says nothing about the ConfigMap but what it is for', async () => {
  const snippet = parse(await readFile(SNIPPET, 'utf8')) as { data: Record<string, string> };
  expect(Object.keys(snippet.data).every((key) => key.startsWith('resource.customizations.'))).toBe(true);
});

/** Which actions there are, and whether they can be chosen. */
function actionsIn(output: string): Record<string, boolean> {
  const rows = [...output.matchAll(/^(pause|resume|restart)\s+(\S+)$/gm)];
  return Object.fromEntries(rows.map(([, name = '', disabled]) => [name, disabled === 'false']));
}

const addedBy = (diff: string): string[] => linesOf(diff, '> ');
const removedBy = (diff: string): string[] => linesOf(diff, '< ');

const linesOf = (diff: string, sign: string): string[] =>
  diff
    .split('\n')
    .filter((line) => line.startsWith(sign))
    .map((line) => line.slice(sign.length));
