import { describe, expect, it } from 'vitest';
import { stripChild, stripPod, stripResource } from './strip-fields.ts';
import { contentHash } from './kubernetes/content-hash.ts';
import type { KubernetesObject } from './kubernetes/kubernetes.ts';

const deployment = (image = 'a:1', limit = '1Gi'): KubernetesObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name: 'demo',
    namespace: 'team',
    uid: 'u',
    labels: { 'mcpadapter.io/adapter': 'demo' },
    annotations: { note: 'x' },
    managedFields: [{ manager: 'm', operation: 'Apply' }],
  },
  spec: {
    replicas: 2,
    selector: { matchLabels: {} },
    template: {
      metadata: { annotations: { hash: '1' }, labels: {} },
      spec: {
        containers: [{ name: 'adapter', image, env: [{ name: 'A' }], resources: { limits: { memory: limit } } }],
      },
    },
  },
  status: { replicas: 2 },
});

describe('what is kept of an object that the operator made', () => {
  it('is what the operator reads', () => {
    expect(stripChild(deployment())).toMatchObject({
      metadata: { name: 'demo', namespace: 'team', uid: 'u', labels: { 'mcpadapter.io/adapter': 'demo' } },
      spec: {
        replicas: 2,
        template: {
          metadata: { annotations: { hash: '1' } },
          spec: { containers: [{ name: 'adapter', image: 'a:1' }] },
        },
      },
      status: { replicas: 2 },
    });
    expect(JSON.stringify(stripChild(deployment()))).not.toMatch(/limits|selector|managedFields|"env"/);
  });

  it('still tells that anything was changed, as the object itself does', () => {
    expect(contentHash(stripChild(deployment()))).toBe(contentHash(deployment()));
    expect(contentHash(stripChild(deployment('a:1', '2Gi')))).not.toBe(contentHash(deployment()));
    expect(contentHash({ ...stripChild(deployment()) })).toBe(contentHash(deployment()));
  });

  it('is the file and the variables of a scrape group, by which it is taken apart again', () => {
    const labels = { 'mcpadapter.io/scrape-group': 'g' };
    const file = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'f', labels }, data: { 'config.yaml': 'x' } };
    expect(stripChild(file)['data']).toEqual({ 'config.yaml': 'x' });
    expect(stripChild({ ...file, metadata: { name: 'f' } })['data']).toBeUndefined();
    const scraper = deployment();
    expect(JSON.stringify(stripChild({ ...scraper, metadata: { ...scraper.metadata, labels } }))).toContain('"env"');
  });

  it('is enough of Services, policies and claims', () => {
    const of = (kind: string, spec: object, status?: object) =>
      stripChild({ apiVersion: 'v1', kind, metadata: { name: 'x' }, spec, status });
    expect(of('Service', { clusterIP: '10.0.0.1', ports: [], type: 'NodePort' })['spec']).toEqual({
      clusterIP: '10.0.0.1',
      ports: [],
    });
    expect(of('NetworkPolicy', { policyTypes: ['Egress'], egress: [], ingress: [] })['spec']).toEqual({
      policyTypes: ['Egress'],
      egress: [],
    });
    expect(of('PersistentVolumeClaim', { storageClassName: 'a', resources: {} }, { phase: 'Bound' })).toMatchObject({
      spec: { storageClassName: 'a', resources: {} },
      status: { phase: 'Bound' },
    });
  });
});

it('keeps a custom resource without what only the API server and kubectl need', () => {
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}', mine: '1' };
  const resource = stripResource({ ...deployment(), metadata: { name: 'a', annotations, managedFields: [] } });
  expect(resource.metadata).toEqual({ name: 'a', annotations: { mine: '1' } });
  expect(resource['spec']).toEqual(deployment()['spec']);
});

it('keeps of a pod how it is, and how it is reached', () => {
  const pod = stripPod({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', managedFields: [] },
    spec: { nodeName: 'n', containers: [{ name: 'adapter', image: 'a', ports: [], env: [] }] },
    status: { phase: 'Running', podIP: '10.0.0.1', hostIP: '10.0.0.2' },
  });
  expect(JSON.stringify(pod)).toBe(
    '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},' +
      '"spec":{"containers":[{"name":"adapter","image":"a","ports":[]}]},"status":{"phase":"Running","podIP":"10.0.0.1"}}',
  );
});
