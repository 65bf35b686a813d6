import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningAdapter } from '../support/adapter-process.ts';
import { asObject } from '../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { type Door, drain, openSession, textOf } from './kit/session.ts';

/** Ten minutes ahead, which is longer than anything below is kept. */
const AHEAD = 'const now = Date.now; Date.now = () => now() + 600_000;';

describe('a replica whose clock is ten minutes ahead', { timeout: 60_000 }, () => {
  let upstream: ScriptedUpstream;
  let deployment: Deployment;
  let ahead: RunningAdapter;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    const config = {
      core: { cleanup_interval_seconds: 0.1 },
      sessions: { idle_ttl_seconds: 300, allow_revival: false },
      uploads: { ttl_seconds: 120, page_url_ttl_seconds: 60 },
      state_persistence: { redis: { ping_seconds: 0.2 } },
      servers: [mounted('up', upstream.url)],
    };
    deployment = await startDeployment({ config });
    ahead = await deployment.startAnother(
      {},
      { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(AHEAD)}` },
    );
  });
  afterAll(async () => {
    await ahead?.stop();
    await deployment?.close();
    await upstream?.close();
  });

  const health = async (replica: RunningAdapter) => asObject(await (await fetch(`${replica.url}/healthz`)).json());
  const pageAt = async (door: Door, replica: RunningAdapter): Promise<string> => {
    const [, json = ''] = /^(\{.*\})$/s.exec(textOf(await door.tool('up_get_upload_url'))) ?? [];
    const { pathname, search } = new URL(String(asObject(JSON.parse(json)).page_url));
    return `${replica.url}${pathname}${search}`;
  };

  test('M5: says so, and cleans nothing up', async () => {
    const cleaned = { state_inventory: { last_cleanup: { skipped: 'clock_differs' } } };
    await expect
      .poll(() => health(ahead), { timeout: 10_000 })
      .toMatchObject({
        status: 'ok',
        warnings: ['clock_differs'],
        persistence: { clock: { status: 'differs' }, ...cleaned },
      });
    expect(ahead.stdout()).toContain('the clock of this replica differs from that of the state store');
    await expect
      .poll(() => health(deployment.a), { timeout: 10_000 })
      .toMatchObject({ persistence: { clock: { status: 'ok' }, state_inventory: { last_cleanup: { status: 'ok' } } } });
    expect(await health(deployment.a)).not.toHaveProperty('warnings');
  });

  test('M5: shares sessions with the others', async () => {
    const { a } = deployment;
    const [here, there] = [await openSession(a), await openSession(ahead)];
    for (const session of [here, there]) {
      for (const [n, place] of [a, ahead, a].entries()) {
        expect(textOf(await session.at(place).tool('echo', { n }))).toBe(`{"n":${n}}`);
      }
    }
    const inventory = { persistence: { state_inventory: { sessions_count: 2, in_flight_count: 0 } } };
    for (const replica of [a, ahead]) expect(await health(replica)).toMatchObject(inventory);
    for (const session of [here, there]) expect(await drain(session.at(ahead).end())).toBe(200);
  });

  test('M5 T16: and signed URLs are good for as long as they say, wherever they were made', async () => {
    const { a } = deployment;
    const session = await openSession(a);
    const pages = [await pageAt(session.at(a), ahead), await pageAt(session.at(ahead), a)];
    for (const page of pages) expect(await drain(fetch(page))).toBe(200);
    for (const page of pages) {
      const exp = Number(new URL(page).searchParams.get('mcp_upload_exp'));
      expect(Math.abs(exp - Date.now() / 1000 - 60)).toBeLessThan(30);
    }
  });
});
