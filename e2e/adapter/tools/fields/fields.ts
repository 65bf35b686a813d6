import { asObject, type JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import type { ScriptedUpstream } from '../../../support/scripted-upstream/scripted-upstream.ts';
import type { Door } from '../../kit/session.ts';
import { show, tool, type Tools } from '../kit/changes.ts';
import { toolsOf } from '../kit/client.ts';

/** A field that stands in `core` and in a server, and what a client sees of its values. */
export interface Field {
  /** Below `core`, and below a server. */
  readonly path: string;
  /** Two at least, all of them different to see. Null only where it means no limit. */
  readonly values: readonly unknown[];
  /** Settings that let it have its effect, instead of those in `NEUTRAL`. */
  readonly with: JsonObject;
  /** More of the server. */
  readonly server?: JsonObject;
  readonly seen: (door: Door, upstream: ScriptedUpstream) => Promise<unknown>;
  readonly expected: (value: unknown) => unknown;
}

/** Nothing is done to tools. */
export const NEUTRAL: JsonObject = {
  tool_metadata_sanitization: {
    mode: 'off',
    normalize_unicode: false,
    remove_invisible_characters: false,
    max_tool_title_chars: 9_000,
    max_tool_description_chars: 9_000,
    max_schema_text_chars: 9_000,
  },
  tool_description_policy: {
    mode: 'preserve',
    max_tool_description_chars: 9_000,
    max_schema_description_chars: 9_000,
  },
  tool_definition_pinning: { mode: 'off', block_strategy: 'error', block_error_session_action: 'keep' },
  code_mode_enabled: false,
  shorten_descriptions: false,
  short_description_max_tokens: 16,
};

const LONG = 400;
const HIDDEN = 'a\u200Bb';
const WIDE = '\uFF37ide';
const DESCRIPTION = 'Sends one file to a page. Then it waits for an answer.';

export const TOOLS = (): Tools => [
  [
    'long',
    tool({
      title: 't'.repeat(LONG),
      description: 'd'.repeat(LONG),
      inputSchema: {
        type: 'object',
        title: 'T'.repeat(LONG),
        properties: { a: { type: 'string', description: 's'.repeat(LONG) } },
      },
    }),
  ],
  ['hidden', tool({ description: HIDDEN })],
  ['wide', tool({ description: WIDE })],
  [
    'send',
    tool({ description: DESCRIPTION, inputSchema: { type: 'object', properties: { file: { type: 'string' } } } }),
  ],
];

async function toolNamed(door: Door, name: string): Promise<JsonObject> {
  const { result } = await door.call('tools/list');
  return asObject(toolsOf(asObject(result)).find((one) => one.name === name));
}
const descriptionOf =
  (name: string) =>
  async (door: Door): Promise<unknown> =>
    (await toolNamed(door, name)).description;

const schemaOf = async (door: Door): Promise<JsonObject> => asObject((await toolNamed(door, 'long')).inputSchema);
const schemaTitle = async (door: Door): Promise<unknown> => (await schemaOf(door)).title;
const schemaDescription = async (door: Door): Promise<unknown> =>
  asObject(asObject((await schemaOf(door)).properties).a).description;

const cut =
  (character: string) =>
  (max: unknown): string =>
    max === null ? character.repeat(LONG) : `${character.repeat(Number(max) - 3)}...`;

const sanitize = (more: JsonObject): JsonObject => ({ tool_metadata_sanitization: { mode: 'sanitize', ...more } });
const truncate: JsonObject = { tool_description_policy: { mode: 'truncate' } };
const pinning = (more: JsonObject): JsonObject => ({ tool_definition_pinning: more });

/** The list, after a tool of it has changed within the session. */
async function listAfterChange(door: Door, upstream: ScriptedUpstream): Promise<JsonObject> {
  await door.call('tools/list');
  show(upstream, [...TOOLS().filter(([name]) => name !== 'wide'), ['wide', tool({ description: 'Another.' })]]);
  return door.call('tools/list');
}

/** What is answered to that list: an error, or what it says of the tool. */
async function reaction(door: Door, upstream: ScriptedUpstream): Promise<unknown> {
  const { result, error } = await listAfterChange(door, upstream);
  if (error !== undefined) return asObject(asObject(error).data).code;
  const { description } = asObject(toolsOf(asObject(result)).find(({ name }) => name === 'wide'));
  return String(description).replace(/^WARNING[^]*\n/, 'WARNING ');
}
const DRIFT = 'tool_definition_drift';

const consumer = { adapters: [{ type: 'upload_consumer', tools: ['send'], file_path_argument: 'file' }] };
/** What is left of the upstream's description before the adapter's own words. */
const summary = async (door: Door): Promise<unknown> => String(await descriptionOf('send')(door)).split('\n\n')[0];

export const FIELDS: readonly Field[] = [
  {
    path: 'tool_metadata_sanitization.mode',
    values: ['off', 'sanitize', 'block'],
    with: sanitize({ remove_invisible_characters: true }),
    async seen(door) {
      const { error } = await door.tool('hidden');
      return [await descriptionOf('hidden')(door), asObject(error).message];
    },
    expected: (mode) =>
      mode === 'block' ? [undefined, 'Unknown tool: hidden'] : [mode === 'off' ? HIDDEN : 'ab', undefined],
  },
  {
    path: 'tool_metadata_sanitization.normalize_unicode',
    values: [true, false],
    with: sanitize({}),
    seen: descriptionOf('wide'),
    expected: (isOn) => (isOn === true ? 'Wide' : WIDE),
  },
  {
    path: 'tool_metadata_sanitization.remove_invisible_characters',
    values: [true, false],
    with: sanitize({}),
    seen: descriptionOf('hidden'),
    expected: (isOn) => (isOn === true ? 'ab' : HIDDEN),
  },
  {
    path: 'tool_metadata_sanitization.max_tool_title_chars',
    values: [10, 20, null],
    with: sanitize({}),
    seen: async (door) => (await toolNamed(door, 'long')).title,
    expected: cut('t'),
  },
  {
    path: 'tool_metadata_sanitization.max_tool_description_chars',
    values: [10, 20, null],
    with: sanitize({}),
    seen: descriptionOf('long'),
    expected: cut('d'),
  },
  {
    path: 'tool_metadata_sanitization.max_schema_text_chars',
    values: [10, 20, null],
    with: sanitize({}),
    seen: async (door) => [await schemaTitle(door), await schemaDescription(door)],
    expected: (max) => [cut('T')(max), cut('s')(max)],
  },
  {
    path: 'tool_description_policy.mode',
    values: ['preserve', 'truncate', 'strip'],
    with: { tool_description_policy: { max_tool_description_chars: 10, max_schema_description_chars: 20 } },
    seen: async (door) => [await descriptionOf('long')(door), await schemaDescription(door)],
    expected: (mode) => {
      if (mode === 'strip') return [undefined, undefined];
      return mode === 'truncate' ? [cut('d')(10), cut('s')(20)] : [cut('d')(null), cut('s')(null)];
    },
  },
  {
    path: 'tool_description_policy.max_tool_description_chars',
    values: [10, 20, null],
    with: truncate,
    seen: descriptionOf('long'),
    expected: cut('d'),
  },
  {
    path: 'tool_description_policy.max_schema_description_chars',
    values: [10, 20, null],
    with: truncate,
    seen: schemaDescription,
    expected: cut('s'),
  },
  {
    path: 'tool_definition_pinning.mode',
    values: ['off', 'warn', 'block'],
    with: {},
    seen: reaction,
    expected: (mode) => ({ off: 'Another.', warn: 'WARNING Another.', block: DRIFT })[String(mode)],
  },
  {
    path: 'tool_definition_pinning.block_strategy',
    values: ['error', 'baseline_subset'],
    with: pinning({ mode: 'block' }),
    seen: reaction,
    expected: (strategy) => (strategy === 'error' ? DRIFT : 'undefined'),
  },
  {
    path: 'tool_definition_pinning.block_error_session_action',
    values: ['keep', 'invalidate'],
    with: pinning({ mode: 'block' }),
    async seen(door, upstream) {
      await listAfterChange(door, upstream);
      return asObject(asObject((await door.call('ping')).error).data).code;
    },
    expected: (action) => (action === 'keep' ? undefined : 'session_invalidated'),
  },
  {
    path: 'code_mode_enabled',
    values: [true, false],
    with: {},
    async seen(door) {
      const { result } = await door.call('tools/list');
      const names = toolsOf(asObject(result)).map(({ name }) => String(name));
      return [names.includes('long'), names.filter((name) => name.endsWith('_execute')).length];
    },
    expected: (isOn) => (isOn === true ? [false, 1] : [true, 0]),
  },
  {
    path: 'shorten_descriptions',
    values: [true, false],
    with: {},
    server: consumer,
    seen: summary,
    expected: (isOn) => (isOn === true ? 'Sends one file to a page.' : DESCRIPTION),
  },
  {
    path: 'short_description_max_tokens',
    values: [3, 5],
    with: { shorten_descriptions: true },
    server: consumer,
    seen: summary,
    expected: (max) => (max === 3 ? 'Sends one file...' : 'Sends one file to a...'),
  },
];
