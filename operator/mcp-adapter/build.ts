/** Pure: the objects that a McpAdapter consists of. */
import type { McpAdapter } from '../../crds/v1alpha1/mcp-adapter.ts';
import type { KubernetesObject, Resource } from '../runtime/kubernetes.ts';

/** What build needs beside the resource. */
export interface BuildContext {
  /** Image of the operator, used when the spec names none. */
  readonly image: string;
  /** `openshift`: no fixed ids, because the platform assigns them. */
  readonly podSecurity: 'restricted' | 'openshift';
  /** Resources whose API exists in this cluster. */
  readonly serves: { readonly httpRoutes: boolean; readonly serviceMonitors: boolean };
  /** Services that upstream URLs name, by namespace and name; undefined when unknown or unreadable. */
  readonly services: (namespace: string, name: string) => KubernetesObject | undefined;
  /** Annotation mcpadapter.io/references-revision to use. */
  readonly referencesRevision: string | undefined;
  /** Access modes of `spec.storage.existingClaim`; undefined when there is none or it is not known. */
  readonly existingClaimModes?: readonly string[] | undefined;
}

/** An object as it is to be applied, without its owner reference. */
export interface Child {
  readonly resource: Resource;
  readonly object: KubernetesObject;
  /** Whether it gets an owner reference and so goes with the McpAdapter. False for storage that is retained. */
  readonly owned: boolean;
}

/**
 * Every object of this McpAdapter, in the order in which they are applied. What is not in the list is not wanted.
 * The same arguments give the same list, to the byte.
 */
export function build(adapter: McpAdapter, context: BuildContext): Child[] {
  void adapter;
  void context;
  return [];
}
