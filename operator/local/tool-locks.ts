import { API_VERSION } from '../../crds/v1alpha1/api.ts';
import type { Problem } from '../../crds/config/load/problem.ts';
import type { McpAdapter } from '../../crds/v1alpha1/mcp-adapter.ts';
import type { Child } from '../mcp-adapter/build/build.ts';
import { type CachedLock, cachedLock, lockText, problemsOf } from '../mcp-adapter/lock/cached-lock.ts';
import { lockConfigMap } from '../mcp-adapter/lock/lock-config-map.ts';
import { lockPlan, locksOfAdapter } from '../mcp-adapter/lock/locks-of-adapter.ts';
import type { Manifest } from './manifests.ts';

const isLock = ({ object: { apiVersion, kind } }: Manifest): boolean =>
  apiVersion === API_VERSION && kind === 'McpToolLock';

/** What the cluster would make of the lock of this adapter: nothing, or its ConfigMap. */
export function lockAmong(manifests: readonly Manifest[], adapter: McpAdapter): Child[] {
  const { name, namespace = 'default' } = adapter.metadata;
  const locks = manifests.filter(isLock).filter(({ object }) => object.metadata.namespace === namespace);
  const cached = locks.map(lockOf);
  const found = locksOfAdapter(name, cached);
  if (lockPlan(found, undefined) !== 'apply' || found.chosen === undefined) return [];
  const chosen = locks[cached.indexOf(found.chosen)];
  return [lockConfigMap(adapter, lockText(chosen?.object['spec']))];
}

/** In files the order stands for the age. */
function lockOf({ object }: Manifest, index: number): CachedLock {
  const creationTimestamp = new Date(index * 1000).toISOString();
  return cachedLock({ ...object, metadata: { ...object.metadata, creationTimestamp } });
}

/** Everything that is wrong with a McpToolLock by itself. */
export function lockProblems({ object }: Manifest): readonly Problem[] {
  const problems = problemsOf(object['spec']);
  if (problems.length > 0) return problems;
  const { refusal } = cachedLock(object).content;
  return refusal === undefined ? [] : [{ path: 'spec', message: refusal.message }];
}
