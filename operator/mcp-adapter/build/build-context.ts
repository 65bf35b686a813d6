import type { Budget } from '../../tasks/budget.ts';
import type { EgressContext } from '../../pods/egress.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';

/** What build needs beside the resource. */
export interface BuildContext extends EgressContext {
  /** Image of the operator, used when the spec names none. */
  readonly image: string;
  /** Addresses of the API server, to which pods may not connect; undefined: they may. */
  readonly apiServer: readonly string[] | undefined;
  /** Resources whose API exists in this cluster. */
  readonly serves: { readonly httpRoutes: boolean; readonly serviceMonitors: boolean };
  /** Annotation mcpadapter.io/references-revision to use. */
  readonly referencesRevision: string | undefined;
  /** Access modes of `spec.storage.existingClaim`; undefined when there is none or it is not known. */
  readonly existingClaimModes?: readonly string[] | undefined;
  /** The object that says what the resource began with; undefined for a new one. See `recordAmong`. */
  readonly record?: KubernetesObject | undefined;
  /** Whether a tool lock is in force; its ConfigMap is made elsewhere. */
  readonly isLocked?: boolean;
  /** What this may take; undefined: as long as it likes. */
  readonly budget?: Budget;
}
