import type { OwnResources } from './own-resources.ts';

export const WORKFLOW_URI = 'doc://upload_workflow.md';

/** The page that tells models how files get to tools; `markdown` is its text. */
export function workflowResource(markdown: string): OwnResources {
  const listed = JSON.stringify({
    uri: WORKFLOW_URI,
    name: 'upload_workflow.md',
    title: 'How to upload files',
    description: 'How a file is uploaded and handed to a tool.',
    mimeType: 'text/markdown',
    size: Buffer.byteLength(markdown),
  });
  const contents = JSON.stringify({ contents: [{ uri: WORKFLOW_URI, mimeType: 'text/markdown', text: markdown }] });
  return {
    list: () => Promise.resolve([listed]),
    owns: (uri) => uri === WORKFLOW_URI,
    read: () => Promise.resolve(contents),
  };
}

/** Several kinds of resources as one. */
export function joinedResources(all: readonly OwnResources[]): OwnResources | undefined {
  if (all.length <= 1) return all[0];
  return {
    list: async (record) => (await Promise.all(all.map((one) => one.list(record)))).flat(),
    owns: (uri) => all.some((one) => one.owns(uri)),
    read: (record, uri) => all.find((one) => one.owns(uri))?.read(record, uri) ?? Promise.resolve(undefined),
  };
}
