/** Tool locks as an API server gives them, for tests. */
import { createHash } from 'node:crypto';
import { LOCK_KINDS } from '../../../crds/config/lock-file/lock-document.ts';
import type { McpToolLockStatus } from '../../../crds/v1alpha1/mcp-tool-lock.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';

const digestOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

/** A document with so many tools of one server, each with all fields. */
export function lockDocument(tools: number, more: object = {}): Record<string, unknown> {
  const entry = (name: string) => ({
    digest: digestOf(name),
    fields: Object.fromEntries(LOCK_KINDS.tools.fields.map((field) => [field, digestOf(`${name} ${field}`)])),
  });
  const names = Array.from({ length: tools }, (_, index) => `look_something_up_${index}`);
  return { servers: { files: { tools: Object.fromEntries(names.map((name) => [name, entry(name)])) } }, ...more };
}

interface LockState {
  readonly adapter?: string;
  readonly created?: string;
  readonly deleted?: string;
  readonly document?: object;
  readonly status?: McpToolLockStatus;
}

/** By default: of the adapter `demo`, with two tools. */
export function toolLock(name: string, state: LockState = {}): KubernetesObject {
  const { adapter = 'demo', created = '2026-01-01T00:00:00Z', deleted, document = lockDocument(2), status } = state;
  return {
    apiVersion: 'mcpadapter.io/v1alpha1',
    kind: 'McpToolLock',
    metadata: {
      name,
      namespace: 'team',
      uid: `uid-${name}`,
      generation: 1,
      resourceVersion: '1',
      creationTimestamp: created,
      ...(deleted === undefined ? {} : { deletionTimestamp: deleted }),
    },
    spec: { adapterRef: { name: adapter }, ...document },
    ...(status === undefined ? {} : { status }),
  };
}
