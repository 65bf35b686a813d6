import { chmod, chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Sessions } from '../../../crds/config/adapter-file/sessions.ts';
import { StatePersistence } from '../../../crds/config/adapter-file/state-persistence.ts';
import { openStore } from './open-store.ts';
import type { OpenedState } from './open-store.ts';
import { StoreUnavailable } from '../state-store.ts';
import { sampleAccount } from '../../testing/sample-account.ts';
import { sampleSession as newRecord } from '../testing/sample-session.ts';

const stateAt = async (state: OpenedState, sessionId: string): Promise<string> =>
  (await state.store.find(newRecord(sessionId), { principal: '', now: 2_000 })).state;

describe('openStore', () => {
  let root: string;
  let logged: string[];
  let exits: string[];
  const openedStates: OpenedState[] = [];

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'open-store-'));
    logged = [];
    exits = [];
  });
  afterEach(async () => {
    for (const state of openedStates.splice(0)) await state.close();
    await rm(root, { recursive: true });
  });

  const open = async (settings: object): Promise<OpenedState> => {
    const config = {
      state_persistence: StatePersistence.parse(settings),
      sessions: Sessions.parse({}),
      storage: { root },
      servers: [],
    };
    const hooks = {
      exit: (reason: string) => exits.push(reason),
      log: (message: string) => logged.push(message),
      account: sampleAccount(),
    };
    const state = await openStore(config, hooks);
    openedStates.push(state);
    return state;
  };

  test('disk keeps sessions under storage.root', async () => {
    const before = await open({ type: 'disk' });
    await before.store.open(newRecord('one'));
    expect(before.status()).toMatchObject({
      unavailable: false,
      degradedReason: null,
      object: {
        type: 'disk',
        status: 'ok',
        configured_type: 'disk',
        effective_type: 'disk',
        fallback_active: false,
        backend_details: { mode: 'sqlite', db_path: join(root, 'state', 'adapter_state.sqlite3'), wal_enabled: true },
        backend_status: { status: 'ok', exists: true, is_file: true, parent_exists: true },
        policy: { configured_backend: 'disk', unavailable_policy: 'fail_closed', unavailable: false, last_error: null },
      },
    });
    await before.close();
    expect(await stateAt(await open({ type: 'disk' }), 'one')).toBe('active');
  });

  describe('T7: state that others can read or replace', () => {
    const NOBODY = 65_534;
    const own = (path: string): Promise<number> => stat(path).then(({ mode }) => mode & 0o777);

    test.each(['disk', 'memory'])('is closed to them at the start: %s', async (type) => {
      const path = join(root, 'a.sqlite3');
      await writeFile(path, '');
      await chmod(path, 0o666);
      await open({ type, disk: { local_path: path } });
      expect(await own(path)).toBe(0o600);
    });

    test.for(['disk', 'memory'])(
      'ends the start where that cannot be, whatever the policy: %s',
      async (type, { skip }) => {
        if (process.geteuid?.() !== 0) skip('only root can give files to other users');
        const path = join(root, 'a.sqlite3');
        await writeFile(path, '');
        await chown(path, NOBODY, NOBODY);
        const opening = open({ type, unavailable_policy: 'fallback_memory', disk: { local_path: path } });
        await expect(opening).rejects.toThrow(`the file ${path} is owned by user ${NOBODY}`);
      },
    );

    test('leaves other failures to the policy, because they may pass', async () => {
      await writeFile(join(root, 'file'), '');
      const state = await open({ type: 'disk', disk: { local_path: join(root, 'file', 'a.sqlite3') } });
      expect(state.status().unavailable).toBe(true);
    });
  });

  test('disk.local_path is used, and refresh_on_startup starts empty', async () => {
    const disk = { local_path: join(root, 'elsewhere', 'state.db'), wal: { enabled: false } };
    const before = await open({ type: 'disk', disk });
    await before.store.open(newRecord('one'));
    await before.close();
    expect(await stateAt(await open({ type: 'disk', disk }), 'one')).toBe('active');
    expect(await stateAt(await open({ type: 'disk', disk, refresh_on_startup: true }), 'one')).toBe('unknown');
  });

  const blocked = () => ({ type: 'disk', disk: { local_path: join(root, 'blocked', 'state.db') } });

  describe('a disk that cannot be used', () => {
    beforeEach(() => writeFile(join(root, 'blocked'), 'a file where a folder should be'));

    test('fail_closed starts degraded and recovers', async () => {
      const state = await open(blocked());
      expect(state.status()).toMatchObject({
        unavailable: true,
        degradedReason: 'persistence_unavailable_during_startup',
        object: {
          status: 'degraded',
          detail: 'disk_unhealthy',
          backend_status: { status: 'error', detail: 'state_db_missing_or_invalid' },
          policy: { unavailable: true, degraded_reason: 'persistence_unavailable_during_startup' },
        },
      });
      await expect(state.store.open(newRecord('one'))).rejects.toThrow(StoreUnavailable);
      expect(logged).toHaveLength(1);
    });

    test('exit asks for the end', async () => {
      await open({ ...blocked(), unavailable_policy: 'exit' });
      expect(exits).toHaveLength(1);
    });

    test('fallback_memory serves from memory', async () => {
      const state = await open({ ...blocked(), unavailable_policy: 'fallback_memory' });
      await state.store.open(newRecord('one'));
      expect(await stateAt(state, 'one')).toBe('active');
      expect(state.status()).toMatchObject({
        unavailable: false,
        fallback: true,
        degradedReason: 'fallback_memory_activated_during_startup',
        object: {
          effective_type: 'memory',
          fallback_active: true,
          backend_details: { mode: 'ephemeral_memory_fallback' },
        },
      });
    });
  });

  test('memory without a path keeps nothing and is healthy', async () => {
    const before = await open({ type: 'memory' });
    await before.store.open(newRecord('one'));
    expect(before.status()).toMatchObject({
      unavailable: false,
      degradedReason: null,
      object: { status: 'ok', type: 'memory', backend_details: { mode: 'memory' } },
    });
    await before.close();
    expect(await stateAt(await open({ type: 'memory' }), 'one')).toBe('unknown');
  });

  test('memory with a path survives a restart, unless it is to start empty', async () => {
    const settings = { type: 'memory', disk: { local_path: join(root, 'snapshot.db') }, snapshot_interval_seconds: 60 };
    const before = await open(settings);
    await before.store.open(newRecord('one'));
    await before.close();
    const after = await open(settings);
    expect(await stateAt(after, 'one')).toBe('active');
    await expect
      .poll(() => after.status().object)
      .toMatchObject({
        backend_details: { mode: 'snapshot_backed_memory', snapshot_db_path: join(root, 'snapshot.db') },
        memory_snapshot: { status: 'ok', interval_seconds: 60, last_sessions_count: 1, last_tombstones_count: 0 },
      });
    await after.close();
    const fresh = await open({ ...settings, refresh_on_startup: true });
    expect(await stateAt(fresh, 'one')).toBe('unknown');
    await fresh.close();
    expect(await stateAt(await open(settings), 'one')).toBe('unknown');
  });
});
