import type { JsonObject } from './scripted-upstream/json-rpc.ts';
import type { ScriptedTool } from './scripted-upstream/tools.ts';

/** Things of a business, each with the same operations: as many tools as a large server has. */
const RESOURCES = [
  'invoice',
  'customer',
  'order',
  'shipment',
  'product',
  'supplier',
  'contract',
  'employee',
  'project',
  'ticket',
  'campaign',
  'payment',
  'warehouse',
  'subscription',
  'document',
  'meeting',
  'report',
  'account',
  'budget',
  'asset',
] as const;

interface Operation {
  readonly verb: string;
  readonly description: (thing: string) => string;
  readonly properties: (thing: string) => JsonObject;
  readonly required?: readonly string[];
}

const text = (description: string): JsonObject => ({ type: 'string', description });
const id = (thing: string): JsonObject => ({
  type: 'string',
  pattern: '^[a-z]{3}_[0-9A-Za-z]{16}$',
  description: `Identifier of the ${thing}, as list and search return it`,
});
const filter = (thing: string): JsonObject => ({
  type: 'object',
  description: `Conditions that a ${thing} must meet, all of them`,
  properties: {
    status: {
      type: 'array',
      items: { type: 'string', enum: ['draft', 'active', 'on_hold', 'closed'] },
      description: 'Any of these states',
    },
    created_after: { type: 'string', format: 'date-time', description: 'Only records made after this moment' },
    owner: text('Person or team that owns the record'),
  },
  additionalProperties: false,
});
const attributes = (thing: string): JsonObject => ({
  type: 'object',
  description: `Attributes of the ${thing}; those that are left out keep their value or take the default`,
  properties: {
    number: text('Number shown to people; unique within a year'),
    title: { type: 'string', maxLength: 200, description: 'Short name shown in lists' },
    amount: { type: 'number', minimum: 0, description: "Amount in the account's currency" },
    due_date: { type: 'string', format: 'date', description: 'Day by which it must be dealt with' },
    labels: { type: 'array', items: { type: 'string' }, maxItems: 20, description: 'Free labels for grouping' },
  },
});
const paged = (thing: string): JsonObject => ({
  filter: filter(thing),
  cursor: text('Cursor of the page before'),
  limit: { type: 'integer', minimum: 1, maximum: 500, default: 50, description: 'Records on a page' },
});
const single = (thing: string): JsonObject => ({
  id: id(thing),
  expand: {
    type: 'array',
    items: { type: 'string', enum: ['history', 'references', 'attachments'] },
    description: 'What to return beside the record',
  },
});
const written = (thing: string): JsonObject => ({
  attributes: attributes(thing),
  idempotency_key: text('Any text that is unique to this intention'),
  notify: { type: 'boolean', default: true, description: 'Tell the owner' },
});

const OPERATIONS: readonly Operation[] = [
  {
    verb: 'list',
    description: (thing) => `Lists the ${thing}s that the caller may see, newest first, one page at a time.`,
    properties: paged,
  },
  {
    verb: 'search',
    description: (thing) =>
      `Finds ${thing}s by full text over all their fields, such as names, numbers and notes, ranked by relevance.`,
    properties: (thing) => ({ ...paged(thing), query: text('Words to look for; quote a phrase') }),
    required: ['query'],
  },
  {
    verb: 'get',
    description: (thing) => `Returns one ${thing} with all its attributes and, on request, its history.`,
    properties: single,
    required: ['id'],
  },
  {
    verb: 'create',
    description: (thing) => `Creates a ${thing} and returns it with its identifier. Repeating a key changes nothing.`,
    properties: written,
    required: ['attributes'],
  },
  {
    verb: 'update',
    description: (thing) => `Changes the given attributes of a ${thing} and leaves the others as they are.`,
    properties: (thing) => ({ ...written(thing), id: id(thing) }),
    required: ['id', 'attributes'],
  },
  {
    verb: 'delete',
    description: (thing) => `Moves a ${thing} to the bin, where it stays for thirty days.`,
    properties: (thing) => ({ ...single(thing), reason: text('Why, for the audit log') }),
    required: ['id'],
  },
  {
    verb: 'archive',
    description: (thing) => `Archives a ${thing}: it leaves lists and searches but can still be read and restored.`,
    properties: single,
    required: ['id'],
  },
  {
    verb: 'share',
    description: (thing) => `Gives people or teams access to a ${thing}, who may see it until a date, and tells them.`,
    properties: (thing) => ({
      id: id(thing),
      until: { type: 'string', format: 'date', description: 'Last day of access' },
      recipients: { type: 'array', items: { type: 'string', format: 'email' }, description: 'Who gains access' },
    }),
    required: ['id', 'recipients'],
  },
  {
    verb: 'export',
    description: (thing) => `Writes the ${thing}s that match a filter to a file and returns a link to it.`,
    properties: (thing) => ({ filter: filter(thing), format: { type: 'string', enum: ['csv', 'xlsx', 'json'] } }),
    required: ['format'],
  },
  {
    verb: 'import',
    description: (thing) =>
      `Reads ${thing}s from an uploaded file. A dry run only checks the file and says what would change.`,
    properties: () => ({ file: text('The uploaded file'), dry_run: { type: 'boolean', description: 'Only check' } }),
    required: ['file'],
  },
];

/** 200 tools with the descriptions and schemas that servers of such a size have. Each answers with its name. */
export function businessTools(): Map<string, ScriptedTool> {
  const tools = new Map<string, ScriptedTool>();
  for (const thing of RESOURCES) {
    for (const { verb, description, properties, required = [] } of OPERATIONS) {
      const name = `${verb}_${thing}`;
      tools.set(name, {
        definition: {
          title: `${verb.charAt(0).toUpperCase()}${verb.slice(1)} ${thing}s`,
          description: description(thing),
          inputSchema: { type: 'object', properties: properties(thing), required: [...required] },
          annotations: { readOnlyHint: ['list', 'search', 'get'].includes(verb) },
        },
        call: ({ arguments: args }) => ({
          content: [{ type: 'text', text: JSON.stringify({ called: name, args }) }],
          structuredContent: { id: `${thing.slice(0, 3)}_0123456789abcdef`, called: name },
        }),
      });
    }
  }
  return tools;
}
