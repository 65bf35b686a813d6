import { describe, expect, it } from 'vitest';
import type { KubernetesObject, OwnerReference } from '../kubernetes/kubernetes.ts';
import { type Ownership, prunable, standing } from './ownership.ts';

const owner = (kind: string, name: string, uid: string, version = 'v1alpha1'): OwnerReference => ({
  apiVersion: `mcpadapter.io/${version}`,
  kind,
  name,
  uid,
});
const LABELS = { 'app.kubernetes.io/managed-by': 'mcp-operator', 'mcpadapter.io/adapter': 'demo' };
const ADAPTER: Ownership = { owners: [owner('McpAdapter', 'demo', 'u1')], labels: LABELS };
const GROUP: Ownership = {
  owners: [owner('ApiScrapeSource', 'a', 'u1'), owner('ApiScrapeSource', 'b', 'u2')],
  labels: LABELS,
  ownerKind: { apiVersion: 'mcpadapter.io/v1alpha1', kind: 'ApiScrapeSource' },
};

const object = (ownerReferences?: OwnerReference[], labels: Record<string, string> = LABELS): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'demo', labels, ownerReferences },
});

describe('standing', () => {
  it('is ours with our uid, whatever happened to the labels', () => {
    expect(standing(object([owner('McpAdapter', 'demo', 'u1')], {}), ADAPTER)).toBe('ours');
  });

  it('O21: is ours without an owner only with all of our labels', () => {
    expect(standing(object(), ADAPTER)).toBe('ours');
    expect(standing(object([]), ADAPTER)).toBe('ours');
    expect(standing(object(undefined, { 'app.kubernetes.io/managed-by': 'mcp-operator' }), ADAPTER)).toBe('foreign');
    expect(standing(object(undefined, { ...LABELS, 'mcpadapter.io/adapter': 'other' }), ADAPTER)).toBe('foreign');
    expect(standing(object(), { ...ADAPTER, labels: {} })).toBe('foreign');
  });

  it('is foreign with another owner, also when it carries our labels', () => {
    expect(standing(object([owner('Deployment', 'x', 'u9')]), ADAPTER)).toBe('foreign');
    expect(standing(object([owner('McpAdapter', 'other', 'u9')]), ADAPTER)).toBe('foreign');
  });

  it('knows what a deleted resource of the same name left, in any version of the API', () => {
    expect(standing(object([owner('McpAdapter', 'demo', 'u0', 'v1')]), ADAPTER)).toBe('predecessor');
    expect(standing(object([owner('McpAdapter', 'demo', 'u0')], {}), ADAPTER)).toBe('foreign');
  });

  it('is ours in a group whose owners have changed', () => {
    expect(standing(object([owner('ApiScrapeSource', 'moved-away', 'u0')]), GROUP)).toBe('ours');
    expect(standing(object([owner('ApiScrapeSource', 'moved-away', 'u0')], {}), GROUP)).toBe('foreign');
    const mixed = [owner('ApiScrapeSource', 'moved-away', 'u0'), owner('Deployment', 'x', 'u9')];
    expect(standing(object(mixed), GROUP)).toBe('foreign');
  });
});

describe('prunable', () => {
  it('is what has an owner of ours and our labels', () => {
    expect(prunable(object([owner('McpAdapter', 'demo', 'u1')]), ADAPTER)).toBe(true);
    expect(prunable(object([owner('McpAdapter', 'demo', 'u1')], {}), ADAPTER)).toBe(false);
    expect(prunable(object(), ADAPTER)).toBe(false);
    expect(prunable(object([owner('McpAdapter', 'demo', 'u0')]), ADAPTER)).toBe(false);
    expect(prunable(object([owner('ApiScrapeSource', 'gone', 'u0')]), { ...GROUP, owners: [] })).toBe(true);
  });
});
