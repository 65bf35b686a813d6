import { join } from 'node:path';
import { type Document, isMap, isNode, parseAllDocuments } from 'yaml';
import { CLUSTER_BIN, execute } from '../../e2e/cluster/kubectl.ts';

const CHART = join(import.meta.dirname, '../../helm/mcp-operator');
const NAME = 'mcp-operator';
const HEADER = '# Generated from helm/mcp-operator by npm run generate, for kubectl apply -k deploy/\n';
/** What only Helm has a use for. */
const OF_HELM = [/^helm\.sh\//, /^app\.kubernetes\.io\/managed-by$/];

export interface PlainManifests {
  readonly crds: string;
  readonly operator: string;
}

/** The objects of the chart with its default values and the CRDs, without what only Helm uses. Needs helm from e2e/cluster/build. */
export async function plainManifests(): Promise<PlainManifests> {
  const args = [
    'template',
    NAME,
    CHART,
    '--namespace',
    NAME,
    '--skip-tests',
    '--no-hooks',
    '--set',
    'crds.install=true',
  ];
  const rendered = await execute(join(CLUSTER_BIN, 'helm'), args);
  const documents = parseAllDocuments(rendered).filter((document) => document.contents !== null);
  for (const document of documents) withoutHelm(document);
  const isCrd = (document: Document): boolean => document.get('kind') === 'CustomResourceDefinition';
  return {
    crds: text(documents.filter(isCrd)),
    operator: text(documents.filter((document) => !isCrd(document))),
  };
}

function withoutHelm(document: Document): void {
  // `# Source: …`, which names a template.
  document.commentBefore = null;
  if (isMap(document.contents)) {
    document.contents.commentBefore = null;
    const first = document.contents.items[0]?.key;
    if (isNode(first)) first.commentBefore = null;
  }
  for (const metadata of [['metadata'], ['spec', 'template', 'metadata']]) {
    for (const part of ['labels', 'annotations']) {
      const path = [...metadata, part];
      if (!document.hasIn(path)) continue;
      const entries = document.toJS() as unknown;
      const keys = Object.keys(path.reduce((value, key) => (value as Record<string, unknown>)[key], entries) as object);
      for (const key of keys) {
        if (OF_HELM.some((pattern) => pattern.test(key))) document.deleteIn([...path, key]);
      }
      if (Object.keys((document.getIn(path) as { toJSON(): object }).toJSON()).length === 0) document.deleteIn(path);
    }
  }
}

const text = (documents: readonly Document[]): string =>
  HEADER +
  documents
    .map((document) =>
      document
        .toString({ lineWidth: 0 })
        .replace(/^---\n/, '')
        .trimEnd(),
    )
    .join('\n---\n') +
  '\n';
