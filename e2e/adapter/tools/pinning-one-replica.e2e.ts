import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type RunningAdapter, startAdapter } from '../../support/adapter-process.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { sharedFolder } from '../files/kit/folder.ts';
import { mounted } from '../kit/deployment.ts';
import { EventReader, isMethod } from '../kit/events.ts';
import { startInProcess } from '../kit/in-process.ts';
import { type Door, openSession } from '../kit/session.ts';
import { ALL, before, CHANGES, show } from './kit/changes.ts';
import { SDKS, toolsOf } from './kit/client.ts';
import { INVALIDATED } from './kit/errors.ts';
import { POLICIES } from './kit/policies.ts';
import { endedUpstream, remembers } from './pinning/life.ts';
import { playPolicy } from './pinning/policy-flow.ts';

const DRIFT_LOGGED = 'tools have changed since the session saw them first';

describe('one replica with SQLite', () => {
  const started = new AsyncDisposableStack();
  let upstream: ScriptedUpstream;
  let config: JsonObject;
  let adapter: RunningAdapter;

  beforeAll(async () => {
    upstream = started.use(await startScriptedUpstream());
    const { path: root } = started.use(await sharedFolder());
    config = {
      core: {
        max_start_wait_seconds: 0,
        shutdown_grace_seconds: 0,
        upstream_ping: { enabled: false },
        // Lists are asked for anew; a change that is not announced is seen at once.
        upstream_metadata_cache_ttl_seconds: 0,
        cleanup_interval_seconds: 0.1,
      },
      sessions: { idle_ttl_seconds: 1 },
      state_persistence: { type: 'disk' },
      storage: { root },
      servers: POLICIES.map(({ id, pinning: tool_definition_pinning }) =>
        mounted(id, upstream.url, { tool_definition_pinning }),
      ),
    };
    adapter = await startAdapter({ config });
    started.defer(async () => void (await adapter.stop()));
  });
  afterAll(() => started.disposeAsync());

  describe.for(SDKS)('with a client of SDK %s', ([, connect]) => {
    test.for(POLICIES)('policy $id', async (policy) => {
      const { url } = adapter;
      const { id: serverId } = policy;
      await playPolicy({ upstream, policy, serverId, url, replicas: 1, connect, announces: false, caches: false });
    });
  });

  test('pins outlive the process, and their sessions’ being idle; so does the end of a session', async () => {
    show(upstream, before());
    const open = async (id: string) => {
      const session = await openSession(adapter, { path: `/mcp/${id}` });
      // Before the session is idle: on a busy machine that may be before the next one is open.
      const upstreamId = [...upstream.sessions.keys()].at(-1);
      await session.at(adapter).call('tools/list');
      return [session, upstreamId] as const;
    };
    const [[keep, keepId], [subset, subsetId]] = [await open('keep'), await open('subset_keep')];
    const [ended] = await open('invalidate');
    show(upstream, ALL.after());
    expect((await ended.at(adapter).call('tools/list')).error).toMatchObject({ code: 409 });
    // Operators are told once for each session and change.
    await ended.at(adapter).call('tools/list');
    const drifts = adapter.logs().filter(({ server_id: id, msg }) => id === 'invalidate' && msg === DRIFT_LOGGED);
    expect(drifts.at(-1)).toMatchObject({ drift: expect.stringContaining('changed=described[description]') });
    expect(drifts.map(({ session }) => session).filter((one) => one === drifts.at(-1)?.session)).toHaveLength(1);
    adapter.kill();
    await adapter.exited;
    adapter = await startAdapter({ config, port: adapter.port });
    await remembers(keep, 'keep', [adapter]);
    await remembers(subset, 'subset_keep', [adapter]);
    await Promise.all([endedUpstream(upstream, keepId), endedUpstream(upstream, subsetId)]);
    await remembers(keep, 'keep', [adapter]);
    await remembers(subset, 'subset_keep', [adapter]);
    const response = await ended.at(adapter).request('tools/list');
    expect([response.status, await response.json()]).toMatchObject([404, INVALIDATED]);
  });
});

describe('with warnings, a list', () => {
  afterEach(() => void vi.useRealTimers());

  async function play(steps: (at: { upstream: ScriptedUpstream; door: Door }) => Promise<void>): Promise<void> {
    await using upstream = await startScriptedUpstream();
    show(upstream, before());
    await using adapter = await startInProcess({ servers: [mounted('up', upstream.url)] });
    const session = await openSession(adapter);
    await steps({ upstream, door: session.at(adapter) });
  }
  const hasWarnings = async (door: Door): Promise<boolean[]> => {
    const { result } = await door.call('tools/list');
    const upstreams = toolsOf(asObject(result)).slice(0, -1);
    return upstreams.map(({ description }) => String(description).startsWith('WARNING'));
  };
  const changed = (kind: string) => CHANGES.find((change) => change.kind === kind)?.after() ?? [];
  const NONE = [false, false, false, false, false];
  const ALL_FIVE = [true, true, true, true, true];

  test('is kept for upstream_metadata_cache_ttl_seconds', () =>
    play(async ({ upstream, door }) => {
      expect(await hasWarnings(door)).toEqual(NONE);
      show(upstream, changed('a description'));
      const now = Date.now();
      vi.useFakeTimers({ toFake: ['Date'] });
      vi.setSystemTime(now + 299_000);
      expect(await hasWarnings(door)).toEqual(NONE);
      vi.setSystemTime(now + 301_000);
      expect(await hasWarnings(door)).toEqual(ALL_FIVE);
      expect(upstream.requestsOf('tools/list')).toHaveLength(2);
    }));

  test('is kept until the server says that it has changed', () =>
    play(async ({ upstream, door }) => {
      const end = new AbortController();
      const stream = new EventReader(await door.stream({ signal: end.signal }));
      expect(await hasWarnings(door)).toEqual(NONE);
      show(upstream, changed('a schema'));
      expect(await hasWarnings(door)).toEqual(NONE);
      upstream.announceToolsChanged();
      await stream.message(isMethod('notifications/tools/list_changed'));
      for (let i = 0; i < 2; i += 1) expect(await hasWarnings(door)).toEqual(ALL_FIVE);
      expect(upstream.requestsOf('tools/list')).toHaveLength(2);
      // With warnings, calls ask for no list.
      await door.tool('schemed');
      expect(upstream.requestsOf('tools/list')).toHaveLength(2);
      end.abort();
    }));

  test('of tools that are as they were again has none', () =>
    play(async ({ upstream, door }) => {
      const end = new AbortController();
      const stream = new EventReader(await door.stream({ signal: end.signal }));
      expect(await hasWarnings(door)).toEqual(NONE);
      for (const [tools, expected] of [
        [changed('a description'), ALL_FIVE],
        [before(), NONE],
      ] as const) {
        show(upstream, [...tools]);
        upstream.announceToolsChanged();
        await stream.message(isMethod('notifications/tools/list_changed'));
        expect(await hasWarnings(door)).toEqual(expected);
      }
      end.abort();
    }));
});

test.for(['keep', 'subset_keep'])(
  'without files, a call that names no tool does not get past policy %s',
  async (id) => {
    await using upstream = await startScriptedUpstream();
    show(upstream, before());
    const tool_definition_pinning = POLICIES.find((policy) => policy.id === id)?.pinning;
    const servers = [mounted('up', upstream.url, { tool_definition_pinning })];
    await using adapter = await startInProcess({ servers, uploads: { enabled: false }, artifacts: { enabled: false } });
    const door = (await openSession(adapter)).at(adapter);
    await door.call('tools/list');
    for (const name of [undefined, 7, ['same']]) {
      const { error } = await door.call('tools/call', { name, arguments: {} });
      expect(error).toMatchObject({ code: -32602, data: { code: 'unknown_tool' } });
    }
    expect(upstream.requestsOf('tools/call')).toEqual([]);
  },
);
