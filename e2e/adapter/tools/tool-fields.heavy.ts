import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { AdapterConfig } from '../../../crds/config/adapter-file/adapter.ts';
import { leaves } from '../../../crds/config/testing/schema-leaves.ts';
import { inputSchema } from '../../../crds/generate/json-schema.ts';
import { type RunningAdapter, startAdapter } from '../../support/adapter-process.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { merged, mounted } from '../kit/deployment.ts';
import { startInProcess } from '../kit/in-process.ts';
import { openSession } from '../kit/session.ts';
import { show, tool } from './kit/changes.ts';
import { toolsOf } from './kit/client.ts';
import { type Field, FIELDS, NEUTRAL, TOOLS } from './fields/fields.ts';

/**
 * The fields of section 2.1 that a server can override, but for those that are no matter of lists of tools in a session:
 * what clients without one are told is tried with the surface of tools.
 */
const SECTIONS =
  /^(core|servers\[0\])\.((tool_metadata_sanitization|tool_description_policy|tool_definition_pinning)\.(?!sessionless_).*|code_mode_enabled|shorten_descriptions|short_description_max_tokens)$/;

/** So many adapters, each of which has other values in `core`. */
const ADAPTERS = 3;

const at = (path: string, value: unknown): JsonObject =>
  path
    .split('.')
    .toReversed()
    .reduce<unknown>((inner, key) => ({ [key]: inner }), value) as JsonObject;

const idOf = ({ path }: Field, level: 'core' | 'server'): string => `${path.replaceAll('.', '-')}-${level}`;

/** What stands in `core` of an adapter, and in a server that sets the field itself. */
const inCore = ({ values }: Field, index: number): unknown => values[index % values.length];
const inServer = ({ values }: Field, index: number): unknown => {
  // Null would inherit.
  const own = values.filter((value) => value !== null);
  return own[(index + 1) % own.length];
};

/**
 * An adapter whose `core` has a value of every field, before servers that set all of them but one, so that this one is
 * what `core` says, and before others that set that one, too.
 */
function configOf(url: string, index: number): JsonObject {
  const core = FIELDS.reduce<JsonObject>((all, field) => merged(all, at(field.path, inCore(field, index))), {
    max_start_wait_seconds: 0,
    shutdown_grace_seconds: 0,
    upstream_ping: { enabled: false },
    upstream_metadata_cache_ttl_seconds: 0,
  });
  const servers = FIELDS.flatMap((field) => {
    const others = merged(NEUTRAL, field.with);
    // A field that is null and one that is not there mean the same.
    const inherits = index === 0 ? without(others, field.path) : merged(others, at(field.path, null));
    return [
      mounted(idOf(field, 'core'), url, merged(inherits, field.server ?? {})),
      mounted(
        idOf(field, 'server'),
        url,
        merged(merged(others, at(field.path, inServer(field, index))), field.server ?? {}),
      ),
    ];
  });
  return { core, state_persistence: { type: 'memory' }, servers };
}

function without(settings: JsonObject, path: string): JsonObject {
  const [first = '', ...rest] = path.split('.');
  const { [first]: inner, ...others } = settings;
  return rest.length === 0 ? others : { ...others, [first]: without(inner as JsonObject, rest.join('.')) };
}

describe('the field', () => {
  const started = new AsyncDisposableStack();
  let upstream: ScriptedUpstream;
  let adapters: readonly RunningAdapter[];

  beforeAll(async () => {
    upstream = started.use(await startScriptedUpstream());
    const starting = Array.from({ length: ADAPTERS }, (_, index) =>
      startAdapter({ config: configOf(upstream.url, index) }),
    );
    started.defer(async () => {
      for (const one of await Promise.allSettled(starting)) if (one.status === 'fulfilled') await one.value.stop();
    });
    adapters = await Promise.all(starting);
  });
  afterAll(() => started.disposeAsync());
  beforeEach(() => show(upstream, TOOLS()));

  const seen = async (field: Field, adapter: RunningAdapter, level: 'core' | 'server'): Promise<unknown> => {
    const session = await openSession(adapter, { path: `/mcp/${idOf(field, level)}` });
    show(upstream, TOOLS());
    return field.seen(session.at(adapter), upstream);
  };

  test.for(FIELDS)('core.$path', async (field) => {
    expect(new Set(field.values.map(String)).size).toBe(field.values.length);
    for (const [index, adapter] of adapters.entries()) {
      const value = inCore(field, index);
      expect([value, await seen(field, adapter, 'core')]).toEqual([value, field.expected(value)]);
    }
  });

  test.for(FIELDS)('servers[0].$path', async (field) => {
    for (const [index, adapter] of adapters.entries()) {
      const value = inServer(field, index);
      expect([value, await seen(field, adapter, 'server')]).toEqual([value, field.expected(value)]);
    }
  });
});

test('where nobody has set any of them, texts are cleaned and capped, and changes are warned of', async () => {
  await using upstream = await startScriptedUpstream();
  const long = (character: string): string => character.repeat(3_000);
  const inputSchema = { type: 'object', title: long('T'), properties: { a: { description: long('s') } } };
  const big = tool({ title: long('t'), description: long('d'), inputSchema });
  show(upstream, [...TOOLS(), ['big', big]]);
  const core = { upstream_metadata_cache_ttl_seconds: 0 };
  await using adapter = await startInProcess({ core, servers: [mounted('up', upstream.url)] });
  const door = (await openSession(adapter)).at(adapter);
  const list = async (): Promise<JsonObject> => {
    const { result } = await door.call('tools/list');
    return Object.fromEntries(toolsOf(asObject(result)).map((one) => [one.name, one]));
  };
  const cut = (character: string, max: number): string => `${character.repeat(max - 3)}...`;
  const first = await list();
  expect(first).toMatchObject({
    hidden: { description: 'ab' },
    wide: { description: 'Wide' },
    big: {
      title: cut('t', 256),
      description: cut('d', 2_000),
      inputSchema: { title: cut('T', 1_000), properties: { a: { description: cut('s', 1_000) } } },
    },
  });
  const logged = adapter.logs.filter(({ msg }) => msg === 'text of tools cleaned');
  const named = ['long', 'hidden', 'wide', 'big'].map((name) => ({ name }));
  expect(logged).toMatchObject([{ server_id: 'up', tools: 4, first: named, blocked: false }]);
  expect(logged[0]?.first).toContainEqual({ name: 'hidden', fields: ['description'] });
  show(upstream, [...TOOLS(), ['big', tool({ title: 'Changed' })]]);
  expect(await list()).toMatchObject({ big: { description: expect.stringMatching(/^WARNING/) as string } });
});

test('every field about what is seen of tools has a test', () => {
  const all = leaves(inputSchema(AdapterConfig)).map(({ path }) => path);
  const tested = FIELDS.flatMap(({ path }) => [`core.${path}`, `servers[0].${path}`]);
  expect(tested.toSorted()).toEqual(all.filter((path) => SECTIONS.test(path)).toSorted());
});
