import { expect, test } from 'vitest';
import { valueAt } from '../../../lib/json/tree.ts';
import { effectiveConfig } from '../config/effective-config.ts';
import { adapterWith } from '../testing/golden-resources.ts';
import { service } from './service.ts';

test.each([
  [{}, 'ClusterIP', { port: 9000 }],
  [{ port: 80 }, 'ClusterIP', { port: 80 }],
  [{ nodePort: 30_000 }, 'ClusterIP', { port: 9000 }],
  [{ type: 'NodePort', nodePort: 30_000 }, 'NodePort', { port: 9000, nodePort: 30_000 }],
  [{ type: 'LoadBalancer', port: 80, nodePort: 30_000 }, 'LoadBalancer', { port: 80, nodePort: 30_000 }],
])('a Service that says %j', (spec, type, port) => {
  const adapter = adapterWith({ service: spec }, { core: { port: 9000 } });
  const object = service(adapter, effectiveConfig(adapter.spec));
  expect(valueAt(object, ['spec', 'type'])).toBe(type);
  expect(valueAt(object, ['spec', 'ports'])).toEqual([{ name: 'http', targetPort: 'http', protocol: 'TCP', ...port }]);
});
