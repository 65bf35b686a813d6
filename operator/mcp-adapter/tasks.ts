/** What is decided from a McpAdapter alone, as tasks for any thread. */
import type { Problem } from '../../crds/config/load/problem.ts';
import type { McpAdapter } from '../../crds/v1alpha1/mcp-adapter.ts';
import type { Permissions } from '../validation/permissions.ts';
import type { Task } from '../tasks/task.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { type Key, keyText } from '../kubernetes/key.ts';
import { type Child, build } from './build/build.ts';
import type { BuildContext } from './build/build-context.ts';
import { type RefusalReason, type Served, check } from './check/check.ts';
import { type EffectiveConfig, effectiveConfig } from './config/effective-config.ts';
import { warningsOf } from './check/warnings.ts';

export interface CheckInput {
  readonly resource: KubernetesObject;
  readonly served: Served;
  readonly permissions: Permissions;
}

export type CheckOutput =
  | {
      readonly ok: true;
      readonly config: EffectiveConfig;
      /** What works, but perhaps not as meant. */
      readonly warnings: readonly string[];
    }
  | { readonly ok: false; readonly reason: RefusalReason; readonly problems: readonly Problem[] };

export const CHECK: Task<CheckInput, CheckOutput> = {
  name: 'check-adapter',
  run({ resource, served, permissions }, budget) {
    const checked = check(resource, served, permissions, budget);
    if (!checked.ok) return checked;
    const { spec } = checked.adapter;
    const config = effectiveConfig(spec);
    budget.step('spec');
    return { ok: true, config, warnings: warningsOf(spec, config) };
  },
};

export interface BuildInput {
  readonly adapter: McpAdapter;
  readonly context: Omit<BuildContext, 'services' | 'unreadable' | 'budget'>;
  /** Services that were looked up. */
  readonly services: readonly FoundService[];
}

export interface FoundService {
  readonly key: Key;
  readonly service: KubernetesObject | undefined;
  readonly isUnreadable: boolean;
}

export interface BuildOutput {
  readonly children: Child[];
  /** Services that have to be looked up first; without them the children are not what is wanted. */
  readonly missing: Key[];
}

export const BUILD: Task<BuildInput, BuildOutput> = {
  name: 'build-adapter',
  run({ adapter, context, services }, budget) {
    const found = new Map(services.map((one) => [keyText(one.key), one]));
    const missing = new Map<string, Key>();
    const children = build(adapter, {
      ...context,
      budget,
      services(namespace, name) {
        const text = keyText({ namespace, name });
        if (!found.has(text)) missing.set(text, { namespace, name });
        return found.get(text)?.service;
      },
      unreadable: (namespace, name) => found.get(keyText({ namespace, name }))?.isUnreadable === true,
    });
    return missing.size === 0 ? { children, missing: [] } : { children: [], missing: [...missing.values()] };
  },
};
