import { isObject } from '../../../lib/json/json-object.ts';
import { z } from 'zod';
import { checkAdapterConfig } from '../../../crds/config/load/load.ts';
import type { Problem } from '../../../crds/config/load/problem.ts';
import { schemaProblems } from '../../../crds/config/load/schema-problems.ts';
import { withoutEndSlashes } from '../../../lib/slashes.ts';
import { Storage } from '../../../crds/config/adapter-file/storage.ts';
import { valueAt } from '../../../lib/json/tree.ts';
import { configLimitProblems } from '../../../crds/v1alpha1/limits.ts';
import { type McpAdapter, McpAdapterSpec } from '../../../crds/v1alpha1/mcp-adapter.ts';
import { type Budget, ownFilesBudget } from '../../tasks/budget.ts';
import { overlayProblems } from '../../validation/check-overlay.ts';
import { quantityProblems } from '../../validation/check-resources.ts';
import { type Belongings, refusedByPolicy } from '../../validation/check-restricted.ts';
import { literalSecrets } from '../../validation/literal-secrets.ts';
import { knownLengthProblems } from '../../validation/known-values.ts';
import { DEFAULT_PERMISSIONS, type Permissions } from '../../validation/permissions.ts';
import { sizeProblems } from '../../validation/size.ts';
import type { KubernetesObject } from '../../kubernetes/kubernetes.ts';
import { textAt } from '../../kubernetes/unstructured.ts';
import { codeVariables } from './check-env.ts';
import { ruleProblems } from './check-rules.ts';
import { stateMountProblems } from './check-state-mounts.ts';
import { undeclaredVariables } from './check-variables.ts';
import { CONFIG_FOLDER, CONTAINER, LOCK_FOLDER, LOCK_VOLUME, STORAGE_VOLUME } from '../config/defaults.ts';

/** Why a resource is not accepted; reasons of the condition `Accepted`. */
export type RefusalReason = 'InvalidSpec' | 'UndeclaredVariable' | 'ApiMissing';

export type Checked =
  | { readonly ok: true; readonly adapter: McpAdapter }
  | { readonly ok: false; readonly reason: RefusalReason; readonly problems: readonly Problem[] };

/** What the cluster has. */
export interface Served {
  /** Whether the Gateway API's HTTPRoute exists. */
  readonly httpRoutes: boolean;
  /** Access modes of `spec.storage.existingClaim`; undefined when there is none or it is not known. */
  readonly existingClaimModes?: readonly string[] | undefined;
}

/** `config` is checked by the adapter's own schema, which knows what to make of references. */
const Document = z.object({ spec: McpAdapterSpec.extend({ config: z.unknown() }) });

/**
 * Everything that is wrong with a resource, with the path of each problem from the root of the resource. The API server
 * has refused much of it already, but not when its CRD is older than this program.
 * @throws BudgetError when it takes too long, and nothing else
 */
export function check(
  resource: KubernetesObject,
  served: Served,
  permissions: Permissions = DEFAULT_PERMISSIONS,
  budget: Budget = ownFilesBudget(),
): Checked {
  const { namespace = 'default' } = resource.metadata;
  const large = tooLarge(resource);
  if (large.length > 0) return { ok: false, reason: 'InvalidSpec', problems: large };
  const invalid = [
    ...nameProblems(resource.metadata.name),
    ...shapeProblems(resource, budget),
    ...configProblems(valueAt(resource, ['spec', 'config']), budget),
    ...ruleProblems(resource, served.existingClaimModes, { namespace, apiServer: permissions.apiServer }, budget),
    ...stateMountProblems(resource),
    ...overlayProblems(resource, { name: CONTAINER, port: 'config.core.port', mounts: mountsOf(resource) }),
    ...quantityProblems(resource),
    ...(permissions.literalSecrets ? [] : literalSecrets(valueAt(resource, ['spec', 'config']), ['spec', 'config'])),
    ...codeVariables(resource),
    ...refusedByPolicy(resource, permissions.podOverlay, belongingsOf(resource)),
  ];
  const undeclared = undeclaredVariables(resource);
  const missing = missingApis(resource, served);
  const problems = [...invalid, ...undeclared, ...missing];
  budget.step('spec');
  if (problems.length === 0) return { ok: true, adapter: resource as unknown as McpAdapter };
  const reason = invalid.length > 0 ? 'InvalidSpec' : undeclared.length > 0 ? 'UndeclaredVariable' : 'ApiMissing';
  return { ok: false, reason, problems };
}

/** Of the storage only where its folder is written out. */
function mountsOf(resource: KubernetesObject): Record<string, string> {
  const root = textAt(resource, 'spec', 'config', 'storage', 'root')?.trim() ?? Storage.parse({}).root;
  return { [CONFIG_FOLDER]: 'config', [LOCK_FOLDER]: LOCK_VOLUME, [withoutEndSlashes(root)]: STORAGE_VOLUME };
}

function belongingsOf(resource: KubernetesObject): Belongings {
  const { name } = resource.metadata;
  const existing = textAt(resource, 'spec', 'storage', 'existingClaim');
  return { account: name, claims: existing === undefined ? [`${name}-storage`] : [existing], container: CONTAINER };
}

/** What would take long to look at is looked at no further. */
function tooLarge(resource: KubernetesObject): Problem[] {
  const config = valueAt(resource, ['spec', 'config']);
  const large = sizeProblems(resource['spec'], ['spec']);
  if (large.length > 0) return large;
  const limits = configLimitProblems(config).map((problem) => ({ ...problem, path: inConfig(problem.path) }));
  return [...limits, ...knownLengthProblems(resource['spec'], config, ['spec', 'config'])];
}

/** Objects are named after the resource, and one of them, the Service, must be a DNS label. */
function nameProblems(name: string): Problem[] {
  if (name.length <= 52 && /^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name)) return [];
  const allowed = 'a DNS label of at most 52 characters that starts with a letter';
  return [{ path: 'metadata.name', message: `must be ${allowed}`, allowed }];
}

function shapeProblems(resource: KubernetesObject, budget: Budget): Problem[] {
  budget.step('spec');
  const parsed = Document.safeParse(resource);
  if (parsed.success) return [];
  const checked = { schema: Document, document: resource, references: [] };
  return schemaProblems(parsed.error.issues, checked).map(({ problem }) => problem);
}

function configProblems(config: unknown, budget: Budget): Problem[] {
  budget.step('spec.config');
  if (!isObject(config)) {
    return [{ path: 'spec.config', message: 'is required: the configuration of the adapter, with at least `servers`' }];
  }
  return checkAdapterConfig(config).map((problem) => ({ ...problem, path: inConfig(problem.path) }));
}

const inConfig = (path: string): string =>
  path === '' ? 'spec.config' : path.startsWith('[') ? `spec.config${path}` : `spec.config.${path}`;

function missingApis(resource: KubernetesObject, served: Served): Problem[] {
  if (served.httpRoutes || valueAt(resource, ['spec', 'httpRoute']) === undefined) return [];
  const message = 'needs the Gateway API (gateway.networking.k8s.io/v1), which this cluster does not serve; install it';
  return [{ path: 'spec.httpRoute', message }];
}
