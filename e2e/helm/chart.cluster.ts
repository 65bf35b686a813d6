import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { describe, expect } from 'vitest';
import { USAGE } from '../../operator/options.ts';
import { plainManifests } from '../../scripts/generate/plain-manifests.ts';
import { CHART, CRD_CHART, type Rendered, type Rule, test } from './render.ts';

const TESTDATA = join(import.meta.dirname, 'testdata');
const DEPLOY = join(import.meta.dirname, '../../deploy');

describe('the chart', () => {
  test('has nothing that helm lint complains about', async ({ helm }) => {
    expect(await helm.run('lint', '--strict', CHART, CRD_CHART)).toContain('2 chart(s) linted, 0 chart(s) failed');
  });

  const goldens: [string, object][] = [
    ['default', {}],
    ['namespaced', { scope: 'namespaced', namespaces: ['team-a', 'team-b'] }],
    [
      'everything',
      {
        image: {
          repository: 'registry.example.com/mcp-adapter',
          digest: `sha256:${'0a'.repeat(32)}`,
          pullSecrets: [{ name: 'pull' }],
        },
        replicaCount: 2,
        namespaceSelector: 'mcpadapter.io/enabled=true',
        operator: {
          logLevel: 'debug',
          podSecurity: 'openshift',
          adapterImage: 'registry.example.com/mcp-adapter:2',
          otlpEndpoint: 'http://collector.observability:4317',
          extraArgs: ['--lease-namespace=leases'],
          podOverlay: 'none',
          env: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }],
        },
        serviceAccount: { name: 'operator', annotations: { 'example.com/role': 'operator' } },
        metrics: {
          service: { annotations: { a: 'b' } },
          serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
        },
        networkPolicy: { enabled: true, from: [{ namespaceSelector: {} }] },
        podAnnotations: { 'example.com/a': 'b' },
        podLabels: { team: 'platform' },
        nodeSelector: { 'kubernetes.io/os': 'linux' },
        tolerations: [{ operator: 'Exists' }],
        affinity: { nodeAffinity: {} },
        priorityClassName: 'high',
      },
    ],
  ];
  test.for(goldens)('renders what it always did, with %s values', async ([name, values], { helm }) => {
    const text = await helm.template(values);
    await expect(text).toMatchFileSnapshot(join(TESTDATA, `${name}.yaml`));
  });

  test('never has two operators that both lead', async ({ helm }) => {
    const strategy = async (values: object): Promise<unknown> =>
      (await helm.objects(values)).find(({ kind }) => kind === 'Deployment')?.['spec'];
    expect(await strategy({})).not.toHaveProperty('strategy');
    expect(await strategy({ operator: { leaderElection: false } })).toMatchObject({ strategy: { type: 'Recreate' } });
  });

  test('lets the pod of `helm test` in, whomever else it shuts out', async ({ helm }) => {
    const policies = async (values: object): Promise<unknown[]> =>
      (await helm.objects({ networkPolicy: { enabled: true, ...values } }))
        .filter(({ kind }) => kind === 'NetworkPolicy')
        .map(({ spec }) => spec);
    const from = { namespaceSelector: { matchLabels: { name: 'monitoring' } } };
    const tester = {
      podSelector: {
        matchLabels: { 'app.kubernetes.io/name': 'mcp-operator-test', 'app.kubernetes.io/instance': 'mcp-operator' },
      },
    };
    const ports = [{ port: 'metrics' }];
    expect(await policies({})).toMatchObject([{ ingress: [{ ports }] }]);
    expect(await policies({ from: [from] })).toMatchObject([{ ingress: [{ ports, from: [from, tester] }] }]);
  });

  test('leaves the CRDs to a chart of their own unless it is told to bring them, and they stay either way', async ({
    helm,
  }) => {
    expect((await helm.objects()).filter(isCrd)).toEqual([]);
    const alone = await helm.objects({}, CRD_CHART);
    for (const crds of [alone, (await helm.objects({ crds: { install: true } })).filter(isCrd)]) {
      expect(crds.map(({ metadata }) => metadata.name).sort()).toEqual([
        'apiscrapesources.mcpadapter.io',
        'mcpadapters.mcpadapter.io',
        'mcptoollocks.mcpadapter.io',
      ]);
      for (const crd of crds) {
        expect(crd.metadata).toMatchObject({ annotations: { 'helm.sh/resource-policy': 'keep' } });
      }
    }
  });

  test('T22: asks for rights wherever the operator looks, unless it is told not to', async ({ helm }) => {
    const policies = async (values: object): Promise<Rendered[]> =>
      (await helm.objects(values)).filter(({ kind }) => kind.startsWith('ValidatingAdmissionPolicy'));
    const names = (objects: readonly Rendered[]): string[] => [
      ...new Set(objects.map(({ metadata }) => metadata.name.replace('mcp-operator-', ''))),
    ];
    const all = ['claims', 'configmaps', 'pods', 'rights', 'secrets', 'services'];
    expect(names(await policies({})).sort()).toEqual(all);
    expect(names(await policies({ operator: { podOverlay: 'all' } })).sort()).toEqual(
      all.filter((one) => one !== 'pods'),
    );
    expect(await policies({ admissionPolicy: { enabled: false } })).toEqual([]);
    const bindings = (await policies({ namespaces: ['team-a'] })).filter(({ kind }) => kind.endsWith('Binding'));
    expect(bindings).toHaveLength(all.length);
    const namespaceSelector = {
      matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: ['team-a'] }],
    };
    for (const { spec } of bindings) expect(spec).toMatchObject({ matchResources: { namespaceSelector } });
  });

  test('O6: takes as more arguments what the operator takes', async ({ helm }) => {
    const options = [...USAGE.matchAll(/^ {2}(--[-a-z]+)/gm)].map(([, option = '']) => option);
    const known = options.filter((option) => !['--version', '--help'].includes(option));
    expect(known.length).toBeGreaterThan(8);
    for (const option of known) await helm.template({ operator: { extraArgs: [`${option}=1`] } });
  });

  test('T20: gives the operator no right on Secrets, and none by wildcard', async ({ helm }) => {
    for (const values of [{}, { scope: 'namespaced' }]) {
      const rules = rulesOf(await helm.objects(values));
      expect(rules.length).toBeGreaterThan(5);
      expect(rules.filter(({ resources }) => resources.some((one) => one === 'secrets' || one.includes('*')))).toEqual(
        [],
      );
      expect(rules.filter(({ verbs, apiGroups }) => [...verbs, ...apiGroups].includes('*'))).toEqual([]);
    }
  });

  test('T20: makes nothing that is cluster-wide when it is namespaced, but the policies', async ({ helm }) => {
    const kinds = async (values: object): Promise<string[]> => [
      ...new Set((await helm.objects(values)).map(({ kind }) => kind)),
    ];
    const namespaced = { scope: 'namespaced', namespaces: ['team-a'] };
    const policies = ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'];
    expect((await kinds(namespaced)).filter((kind) => /^(Cluster|Validating)/.test(kind)).sort()).toEqual(policies);
    const without = await kinds({ ...namespaced, admissionPolicy: { enabled: false } });
    expect(without.filter((kind) => /^(Cluster|Custom|Validating)/.test(kind))).toEqual([]);
    expect((await kinds({})).filter((kind) => kind.startsWith('Cluster')).sort()).toEqual([
      'ClusterRole',
      'ClusterRoleBinding',
    ]);
    const roles = (await helm.objects(namespaced)).filter(({ kind }) => kind === 'Role');
    expect(roles.map(({ metadata }) => metadata.namespace ?? '').sort()).toEqual(['mcp-operator', 'team-a']);
  });

  const refused: [string, object, string][] = [
    ['an unknown value', { replicas: 2 }, 'replicas'],
    ['an unknown value in a section', { operator: { loglevel: 'info' } }, 'loglevel'],
    ['a wrong level', { operator: { logLevel: 'verbose' } }, 'logLevel'],
    ['a wrong type', { replicaCount: 'two' }, 'replicaCount'],
    ['a wrong scope', { scope: 'global' }, 'scope'],
    ['a wrong digest', { image: { digest: 'sha256:abc' } }, 'digest'],
    ['O6: a name that is none', { fullnameOverride: 'Not_A_Name' }, 'fullnameOverride'],
    ['O6: memory that is none', { resources: { limits: { memory: 'lots' } } }, 'memory'],
    ['O6: a tag that is none', { image: { tag: 'not a tag' } }, 'tag'],
    ['O6: an image that is none', { image: { repository: 'two words' } }, 'repository'],
    ['O6: an option that the operator does not have', { operator: { extraArgs: ['--what=1'] } }, 'extraArgs'],
    ['O6: a selector that is none', { namespaceSelector: 'team in a' }, 'namespaceSelector'],
    ['O6: an argument behind a line feed', { namespaceSelector: 'a=b\n            - --evil' }, 'namespaceSelector'],
    ['O6: a collector behind a line feed', { operator: { otlpEndpoint: 'http://a\n- --evil' } }, 'otlpEndpoint'],
    ['O6: a word for overlays that is none', { operator: { podOverlay: 'some' } }, 'podOverlay'],
    ['a wrong namespace', { namespaces: ['Team A'] }, 'namespaces'],
    [
      'two operators without leader election',
      { replicaCount: 2, operator: { leaderElection: false } },
      'leaderElection',
    ],
    ['a selector of namespaces with Roles', { scope: 'namespaced', namespaceSelector: 'a=b' }, 'namespaceSelector'],
    [
      'a ServiceMonitor without its Service',
      { metrics: { service: { enabled: false }, serviceMonitor: { enabled: true } } },
      'metrics.service.enabled',
    ],
  ];
  test.for(refused)('refuses %s', async ([, values, named], { helm }) => {
    await expect(helm.template(values)).rejects.toThrow(named);
  });

  test('is what deploy/ has for kubectl apply -k', async ({ helm }) => {
    // Skips without helm.
    expect(helm).toBeDefined();
    const { crds, operator } = await plainManifests();
    expect(await readFile(join(DEPLOY, 'crds.yaml'), 'utf8')).toBe(crds);
    expect(await readFile(join(DEPLOY, 'operator.yaml'), 'utf8')).toBe(operator);
    expect(operator).not.toContain('Helm');
    expect(operator).not.toContain('helm.sh');
  });
});

const isCrd = ({ kind }: Rendered): boolean => kind === 'CustomResourceDefinition';
const rulesOf = (objects: readonly Rendered[]): Rule[] => objects.flatMap(({ rules = [] }) => [...rules]);
