import type { ServerLists } from '../server-lists.ts';

/** A tool that has all of what definitions have, and each kind of value, character and number in it. */
export const SEARCH = {
  name: 'search',
  title: 'Search',
  description: 'Finds <things> & more.\n\n\t"Quoted" \\ path/to/it, größe, \u2028, 😀, \u007f, \b\f\r.',
  inputSchema: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'What to find', minLength: 1, maxLength: 100, pattern: '^\\w+/$' },
      mode: { enum: ['fast', 'deep', { level: 2, name: 'x' }], default: 'fast' },
      weight: { type: 'number', minimum: 0, exclusiveMaximum: 0.5, default: { b: -3, a: 1e-7 } },
      most: { type: 'integer', maximum: 9_007_199_254_740_991, examples: [1e21, 100] },
      where: { $ref: '#/$defs/place' },
    },
    required: ['query', 'mode'],
    additionalProperties: false,
    $defs: { place: { type: 'object', properties: { lat: { type: 'number' }, lon: {} } }, 'x y': [] },
  },
  outputSchema: { type: 'object', properties: { hits: { type: 'array', items: { $ref: '#/$defs/hit' } } }, $defs: {} },
  annotations: { title: 'Search', readOnlyHint: true, destructiveHint: false },
  icons: [{ src: 'https://a.example/i.png', mimeType: 'image/png', sizes: ['48x48', '96x96'] }],
  execution: { taskSupport: 'optional' },
  'x-vendor': { z: [null, true], a: { y: 1, x: 'ü' } },
  _meta: { 'example.org/owner': 'search team', fastmcp: { tags: ['a', 'b'] } },
};

const OTHER = { name: 'fetch', description: 'Fetches one.', inputSchema: { type: 'object' } };

const PROMPT = {
  name: 'summary',
  title: 'Summary',
  description: 'Sums up.',
  arguments: [{ name: 'of', description: 'What to sum up', required: true }],
};

const TEMPLATE = {
  uriTemplate: 'file:///{path}',
  name: 'files',
  description: 'All files.',
  mimeType: 'text/plain',
};

const text = (value: unknown): string => JSON.stringify(value);

/** The lists of a server; `changes` replaces some of them. */
export const sampleServer = (changes: Partial<ServerLists> = {}): ServerLists => ({
  tools: [text(SEARCH), text(OTHER)],
  prompts: [text(PROMPT)],
  resourceTemplates: [text(TEMPLATE)],
  instructions: text('Search first, then fetch.'),
  ...changes,
});
