import { expect, test } from 'vitest';
import { adapterWith } from '../testing/golden-resources.ts';
import { childMetadata } from './labels.ts';

const ours = {
  'app.kubernetes.io/name': 'mcp-adapter',
  'app.kubernetes.io/component': 'adapter',
  'app.kubernetes.io/managed-by': 'mcp-operator',
  'mcpadapter.io/adapter': 'sample',
};

test('labels of a user are added, but never instead of ours', () => {
  const labels = { team: 'a', 'app.kubernetes.io/managed-by': 'me', 'mcpadapter.io/adapter': 'other' };
  expect(childMetadata(adapterWith(), 'x', { labels })).toEqual({
    name: 'x',
    namespace: 'tools',
    labels: { team: 'a', ...ours },
  });
});

test('marks of GitOps tools are left out, because these would prune what carries them', () => {
  const marks = {
    'app.kubernetes.io/instance': 'a',
    'argocd.argoproj.io/tracking-id': 'b',
    'kubectl.kubernetes.io/last-applied-configuration': '{}',
  };
  const metadata = childMetadata(adapterWith(), 'x', { labels: marks, annotations: { ...marks, note: 'c' } });
  expect(metadata.labels).toEqual(ours);
  expect(metadata.annotations).toEqual({ note: 'c' });
});

test('nothing is taken over from the resource', () => {
  const adapter = adapterWith();
  const metadata = { ...adapter.metadata, labels: { a: 'b' }, annotations: { c: 'd' } };
  expect(childMetadata({ ...adapter, metadata }, 'x')).toEqual({ name: 'x', namespace: 'tools', labels: ours });
});
