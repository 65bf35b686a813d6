import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { listen } from '../support/ports.ts';
import { startProcess } from '../support/processes.ts';

const MAIN = fileURLToPath(new URL('../../operator/main.ts', import.meta.url));

test('an operator whose port is taken says so and ends with 1', async () => {
  await using open = new AsyncDisposableStack();
  const taken = createServer();
  open.defer(() => void taken.close());
  const port = await listen(taken, 0, '::');
  const folder = await mkdtemp(join(tmpdir(), 'operator-'));
  open.defer(() => rm(folder, { recursive: true, force: true }));
  const kubeconfig = {
    clusters: [{ name: 'none', cluster: { server: 'https://127.0.0.1:9' } }],
    users: [{ name: 'none', user: {} }],
    contexts: [{ name: 'none', context: { cluster: 'none', user: 'none' } }],
    'current-context': 'none',
  };
  await writeFile(join(folder, 'kubeconfig'), JSON.stringify(kubeconfig));
  const args = [MAIN, 'run', `--metrics-port=${port}`, '--image=adapter:1'];
  const running = open.use(startProcess(process.execPath, args, { KUBECONFIG: join(folder, 'kubeconfig') }));
  expect(await running.exitsWithin(60_000)).toEqual({ code: 1, signal: null });
  expect(running.stderr()).toMatch(/^mcp-operator: listen EADDRINUSE/m);
});
