import { describe, expect, test } from 'vitest';
import { valueAt } from '../../../lib/json/tree.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { build } from './build.ts';
import { adapterWith, contextOf } from '../testing/golden-resources.ts';

const on = { telemetry: { prometheus: { enabled: true, port: 9100, path: '/m' } } };

function built(spec: Record<string, unknown>, config: Record<string, unknown>) {
  const objects = build(adapterWith(spec, config), contextOf()).map(({ object }) => object);
  return (kind: string, name = 'sample'): KubernetesObject | undefined =>
    objects.find((object) => object.kind === kind && object.metadata.name === name);
}

describe('with metrics for Prometheus', () => {
  const object = built({ service: { type: 'LoadBalancer' }, serviceMonitor: { enabled: true } }, on);

  test('pods have a port for them, beside that of clients', () => {
    expect(valueAt(object('Deployment'), ['spec', 'template', 'spec', 'containers', 0, 'ports'])).toEqual([
      { name: 'http', containerPort: 8932, protocol: 'TCP' },
      { name: 'metrics', containerPort: 9100, protocol: 'TCP' },
    ]);
  });

  test('a Service of their own leads there from inside the cluster only, whatever that of clients is', () => {
    const metrics = object('Service', 'sample-metrics');
    expect(valueAt(metrics, ['spec'])).toEqual({
      type: 'ClusterIP',
      clusterIP: 'None',
      selector: { 'mcpadapter.io/adapter': 'sample' },
      ports: [{ name: 'metrics', port: 9100, targetPort: 9100, protocol: 'TCP' }],
    });
    expect(valueAt(object('Service'), ['spec', 'ports', 0, 'name'])).toBe('http');
    expect(valueAt(object('Service'), ['spec', 'ports', 1])).toBeUndefined();
  });

  test('a ServiceMonitor finds that Service by its labels and its port', () => {
    const spec = valueAt(object('ServiceMonitor'), ['spec']);
    expect(spec).toEqual({
      jobLabel: 'mcpadapter.io/adapter',
      selector: { matchLabels: { 'mcpadapter.io/adapter': 'sample' } },
      endpoints: [{ port: 'metrics', path: '/m' }],
    });
    expect(object('Service', 'sample-metrics')?.metadata.labels).toMatchObject({ 'mcpadapter.io/adapter': 'sample' });
  });

  test('the NetworkPolicy lets Prometheus in, unless the resource says who may come', () => {
    expect(valueAt(object('NetworkPolicy'), ['spec', 'ingress'])).toEqual([
      {
        ports: [
          { port: 8932, protocol: 'TCP' },
          { port: 9100, protocol: 'TCP' },
        ],
      },
    ]);
    const ingress = [{ from: [{ podSelector: {} }] }];
    const restricted = built({ networkPolicy: { ingress } }, on);
    expect(valueAt(restricted('NetworkPolicy'), ['spec', 'ingress'])).toEqual(ingress);
  });
});

test('without metrics for Prometheus there is neither port, nor Service, nor ServiceMonitor', () => {
  const object = built({ serviceMonitor: { enabled: true } }, {});
  expect(valueAt(object('Deployment'), ['spec', 'template', 'spec', 'containers', 0, 'ports', 1])).toBeUndefined();
  expect(object('Service', 'sample-metrics')).toBeUndefined();
  expect(object('ServiceMonitor')).toBeUndefined();
  expect(valueAt(object('NetworkPolicy'), ['spec', 'ingress'])).toEqual([{ ports: [{ port: 8932, protocol: 'TCP' }] }]);
});
