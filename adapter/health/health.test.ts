import { describe, expect, test } from 'vitest';

import { FakeUpstream } from '../exchange/testing/fake-upstream.ts';
import type { ReconcileResult } from '../files/reconcile/reconcile-storage.ts';
import { sampleMount } from '../gateway/testing/sample-mount.ts';
import type { Mount } from '../mount/mount.ts';
import {
  type HealthObject,
  healthObject,
  publicHealth,
  type ServerHealth,
  serverHealth,
  unreachedServers,
} from './health.ts';
import type { CleanupReport } from '../cleanup/sweep.ts';
import type { ResponseSink, UpstreamRequest } from '../exchange/upstream.ts';

const NOW = 1_700_000_000_000;
const PERSISTENCE = {
  degradedReason: null,
  object: {
    status: 'ok',
    configured_type: 'disk',
    effective_type: 'disk',
    fallback_active: false,
    local_path: '/data/state.sqlite3',
  },
};
const COUNTS = { sessions: 3, tombstones: 2, inFlight: 1 };
const SERVER: ServerHealth = {
  server_id: 's1',
  mount_path: '/s1',
  upstream_url: 'http://up/mcp',
  status: 'ok',
  breaker: { state: 'closed' },
  ping: { last_error: 'connect 10.0.0.7:80', last_latency_ms: 1 },
};

const health = (changes: Partial<Parameters<typeof healthObject>[0]> = {}): HealthObject =>
  healthObject({
    version: '1.2.3',
    servers: [SERVER],
    persistence: PERSISTENCE,
    inventory: COUNTS,
    startup: undefined,
    ...changes,
  });

describe('the health of an upstream', () => {
  test('is ok without pings', () => {
    const mount = sampleMount({ upstream_ping: { enabled: false } });
    expect(serverHealth(mount, 'http://up/mcp', NOW)).toEqual({
      server_id: 's1',
      mount_path: '/s1',
      upstream_url: 'http://up/mcp',
      status: 'ok',
      breaker: expect.objectContaining({ state: 'closed' }),
      detail: 'upstream_ping_disabled',
    });
  });

  test.for([
    ['modern', true],
    ['legacy', false],
    ['declined', false],
    ['unknown', undefined],
    [undefined, undefined],
  ] as const)('says whether it speaks the revision without sessions: %s', ([known, sessionless]) => {
    const mount = { ...sampleMount(), revisions: { known } as Mount['revisions'] };
    expect(serverHealth(mount, 'u', NOW).sessionless).toBe(sessionless);
    expect('sessionless' in serverHealth(mount, 'u', NOW)).toBe(sessionless !== undefined);
  });

  test('is ok before the first ping, degraded after one that failed and while the breaker is not closed', async () => {
    const mount = sampleMount({
      upstream_ping: { failure_threshold: 1, open_cooldown_seconds: 30, timeout_seconds: 0.01 },
    });
    expect(serverHealth(mount, 'u', Date.now())).toMatchObject({ status: 'ok', ping: { last_error: null } });
    await mount.ping?.reach();
    const failed = serverHealth(mount, 'u', Date.now());
    expect(failed).toMatchObject({ status: 'degraded', detail: 'upstream_unhealthy', breaker: { state: 'closed' } });
    expect(failed.ping).toMatchObject({
      last_error: expect.stringContaining('no answer'),
      last_latency_ms: expect.any(Number),
    });
    mount.breaker.pingFailed(Date.now());
    expect(serverHealth(mount, 'u', Date.now())).toMatchObject({ status: 'degraded', breaker: { state: 'open' } });
    expect(serverHealth(mount, 'u', Date.now() + 31_000)).toMatchObject({
      status: 'degraded',
      breaker: { state: 'half_open' },
    });
  });
});

/** Answers the requests of the ping loop as long as it is told to. */
class AnsweringUpstream extends FakeUpstream {
  answers = true;

  override send(request: UpstreamRequest, sink: ResponseSink): void {
    super.send(request, sink);
    if (!this.answers) return;
    const message = request.body?.messages[0];
    if (message?.kind !== 'request') this.last.head(202).end();
    else this.last.json().data(`{"id":${message.idText},"result":{"protocolVersion":"2025-11-25"}}`).end();
  }
}

test('an upstream that answers again is healthy again', async () => {
  const upstream = new AnsweringUpstream();
  const mount = sampleMount({ upstream_ping: { timeout_seconds: 0.01 } }, { upstream });
  for (const answers of [true, false, true]) {
    upstream.answers = answers;
    expect(await mount.ping?.reach()).toBe(answers);
    expect(serverHealth(mount, 'u', Date.now()).status).toBe(answers ? 'ok' : 'degraded');
  }
});

describe('the health object', () => {
  test('is ok when all parts are', () => {
    expect(health()).toEqual({
      status: 'ok',
      package: 'remote_mcp_adapter',
      version: '1.2.3',
      servers: [SERVER],
      persistence: {
        ...PERSISTENCE.object,
        state_inventory: { status: 'ok', sessions_count: 3, tombstones_count: 2, in_flight_count: 1 },
      },
      adapter_wiring: { status_by_server: { s1: true }, ready: true },
    });
  });

  test('says of which servers the upstream has ever answered', async () => {
    const upstream = new AnsweringUpstream();
    const mount = sampleMount({ upstream_ping: { timeout_seconds: 0.01 } }, { upstream });
    const mounts = [mount, sampleMount({ id: 's2', upstream_ping: { enabled: false } })];
    upstream.answers = false;
    await mount.ping?.reach();
    expect(unreachedServers(mounts)).toEqual(['s1']);
    expect(health({ unreached: ['s1'] })).toMatchObject({
      status: 'degraded',
      degraded_reason: 'adapter_wiring_incomplete',
      adapter_wiring: { status_by_server: { s1: false }, ready: false },
    });
    for (const answers of [true, false]) {
      upstream.answers = answers;
      await mount.ping?.reach();
      expect(unreachedServers(mounts)).toEqual([]);
    }
  });

  test('is degraded when an upstream is, and says that first', () => {
    const servers: ServerHealth[] = [SERVER, { ...SERVER, server_id: 's2', status: 'degraded' }];
    expect(health({ servers })).toMatchObject({ status: 'degraded', degraded_reason: 'upstream_unhealthy' });
    const persistence = { ...PERSISTENCE, degradedReason: 'persistence_unavailable_during_ping' };
    expect(health({ servers, persistence })).toMatchObject({ degraded_reason: 'upstream_unhealthy' });
    const unreached = ['s1'];
    expect(health({ servers, unreached })).toMatchObject({ degraded_reason: 'upstream_unhealthy' });
    expect(health({ persistence, unreached })).toMatchObject({ degraded_reason: 'adapter_wiring_incomplete' });
    expect(health({ persistence })).toMatchObject({
      status: 'degraded',
      degraded_reason: 'persistence_unavailable_during_ping',
    });
  });

  test('shows how the start went, once that is known', () => {
    const startup = {
      ready_within_wait_budget: false,
      max_start_wait_seconds: 60,
      waited_seconds: 60,
      not_ready_servers: ['s1'],
    };
    expect(health({ startup }).startup).toEqual(startup);
    expect(health()).not.toHaveProperty('startup');
  });

  test('says how many files there are, how large they are together, and what the last cleanup did', () => {
    const files = { uploads: { count: 1, bytes: 10 }, artifacts: { count: 4, bytes: 4096 } };
    const cleanup: CleanupReport = {
      expired_sessions: 0,
      tombstoned_sessions: 2,
      removed_tombstones: 0,
      removed_uploads: 3,
      removed_artifacts: 0,
      removed_dangling_upload_records: 0,
      removed_dangling_artifact_records: 0,
      removed_orphan_files: 1,
      files: 'done',
      status: 'ok',
      finished_at: NOW / 1000,
      duration_ms: 12,
    };
    expect(health({ files, cleanup }).persistence['state_inventory']).toEqual({
      status: 'ok',
      sessions_count: 3,
      tombstones_count: 2,
      uploads_count: 1,
      uploads_bytes: 10,
      artifacts_count: 4,
      artifacts_bytes: 4096,
      in_flight_count: 1,
      last_cleanup: cleanup,
    });
  });

  test('shows what became of files without metadata at the start, and to callers without a token only whether', () => {
    const reconciliation: ReconcileResult = {
      status: 'error',
      mode: 'always',
      reason: 'startup_reconciliation_failed',
      detail: '/data/shared is not there',
    };
    const shown = health({ reconciliation });
    expect(shown).toMatchObject({ status: 'ok', startup_reconciliation: reconciliation });
    expect(publicHealth(shown).startup_reconciliation).toEqual({ status: 'error', mode: 'always' });
    expect(health()).not.toHaveProperty('startup_reconciliation');
    expect(publicHealth(health())).not.toHaveProperty('startup_reconciliation');
  });

  test('T25: says what is weak, to everybody', () => {
    const weak = health({ warnings: ['open_to_all'] });
    expect([weak.warnings, weak.status, publicHealth(weak).warnings]).toEqual([['open_to_all'], 'ok', ['open_to_all']]);
    expect(health()).not.toHaveProperty('warnings');
  });

  test('says which issuers have given their keys, and why not to those with the token only', () => {
    const detail = 'id.example.com does not answer as it should: ECONNREFUSED 10.0.0.7:443';
    const away = { issuer: 'https://id.example.com', keys: 'unavailable' as const, detail };
    const shown = health({ issuers: [away] });
    expect(shown).toMatchObject({ status: 'ok', issuers: [away] });
    expect(publicHealth(shown).issuers).toEqual([{ issuer: 'https://id.example.com', keys: 'unavailable' }]);
    expect([health(), publicHealth(health())].filter((one) => 'issuers' in one)).toEqual([]);
  });

  test('T25: names what differs from the lock to those with the token; to others it tells which locked digest, and how many', () => {
    const tool = (name: string) => ({ kind: 'tools' as const, name });
    const locked = `sha256:${'a'.repeat(64)}`;
    const report = {
      drift: [
        { ...tool('search'), fields: ['title'], locked },
        { ...tool('unlocked'), fields: ['name'] },
        { kind: 'instructions' as const, name: '', fields: ['instructions'] },
      ],
      new: [tool('hidden')],
      removed: [tool('gone')],
      more: { drift: 4, new: 5, removed: 6 },
      compared_at: 7,
    };
    const toolLock = {
      mode: 'enforce' as const,
      problem: 'line 7',
      unknown_servers: ['other'],
      servers: { up: report },
    };
    const shown = health({ toolLock });
    expect(shown.tool_lock).toEqual(toolLock);
    expect(publicHealth(shown).tool_lock).toEqual({
      mode: 'enforce',
      problem: 'the last lock cannot be used',
      unknown_servers: [],
      servers: {
        up: {
          drift: [
            { kind: 'tools', fields: ['title'], locked },
            { kind: 'instructions', fields: ['instructions'] },
          ],
          new: [],
          removed: [],
          more: { drift: 5, new: 6, removed: 7 },
          compared_at: 7,
        },
      },
    });
  });

  test('says so when the sessions cannot be counted', () => {
    expect(health({ inventory: undefined }).persistence).toMatchObject({
      state_inventory: { status: 'error', detail: 'state_repository_unavailable' },
    });
  });

  test('shows callers without a token ids of servers, and no paths, no place of the state or of an upstream, and no errors', () => {
    const shown = publicHealth(health());
    expect(shown.persistence).toEqual({
      status: 'ok',
      configured_type: 'disk',
      effective_type: 'disk',
      fallback_active: false,
    });
    const { mount_path: _path, upstream_url: _url, ...server } = SERVER;
    expect(shown.servers).toEqual([{ ...server, ping: { last_error: null, last_latency_ms: 1, refused: null } }]);
    expect(JSON.stringify(shown)).not.toContain('10.0.0.7');
    expect(JSON.stringify(shown)).not.toContain('/data');
    const { ping: _ping, ...unpinged } = server;
    expect(publicHealth(health({ servers: [unpinged] })).servers).toEqual([unpinged]);
    expect(JSON.stringify(shown)).not.toContain('http://up');
    expect(shown).toMatchObject({ status: 'ok', version: '1.2.3' });
  });
});
