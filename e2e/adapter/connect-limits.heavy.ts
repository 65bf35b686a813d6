import { expect, test } from 'vitest';

import { runAdapter } from '../support/adapter-process.ts';
import { startRawUpstream } from '../support/raw-upstream.ts';
import { asObject } from '../support/scripted-upstream/json-rpc.ts';

const SERVERS = 9;
const LIMIT_MS = 10_000;

test('--check-config --connect waits ten seconds for a server, and for eight of them at a time', async () => {
  let open = 0;
  let most = 0;
  // It answers like a server that knows no server/discover, and then no more.
  await using silent = await startRawUpstream(({ json, disconnected }, res) => {
    const { method } = asObject(json);
    if (method === 'initialize') {
      most = Math.max(most, ++open);
      disconnected.addEventListener('abort', () => open--, { once: true });
    } else res.writeHead(404).end();
  });
  const servers = Array.from({ length: SERVERS }, (_, i) => ({
    id: `s${i}`,
    mount_path: `/s${i}`,
    upstream: { url: `${silent.url}/mcp` },
  }));
  const started = performance.now();
  const { code, stdout } = await runAdapter({ config: { servers }, args: ['--check-config', '--connect'] });
  const ms = performance.now() - started;
  expect(code).toBe(3);
  expect(stdout.split('\n').slice(1, -1)).toEqual(
    servers.map(({ id }) => `${id}: not reached: it did not list its tools within 10 s`),
  );
  expect(most).toBe(8);
  expect(ms).toBeGreaterThan(2 * LIMIT_MS - 1);
  expect(ms).toBeLessThan(3 * LIMIT_MS);
}, 60_000);
