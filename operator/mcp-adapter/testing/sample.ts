import { put, sample } from '../../../crds/config/testing/adapter-config.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';

/** A small valid McpAdapter as an API server would give it, with some values changed; undefined removes one. */
export function sampleAdapter(values: Readonly<Record<string, unknown>> = {}): KubernetesObject {
  const resource = {
    apiVersion: 'mcpadapter.io/v1alpha1',
    kind: 'McpAdapter',
    metadata: { name: 'demo', namespace: 'team', uid: 'uid-demo', generation: 1, resourceVersion: '1' },
    spec: { config: sample() },
  };
  for (const [path, value] of Object.entries(values)) put(resource, path, value);
  return resource;
}
