import { join } from 'node:path';
import { expect, test } from 'vitest';
import { COMMANDS } from '../../operator/plugin/commands.ts';
import { startApiServer } from '../cluster/api-server.ts';
import { Kubectl } from '../cluster/kubectl.ts';
import { newAccount, plugin } from './kit/plugin.ts';

const MANY = 300;
/** A start of the program and two lists; a second of it is Node's own. */
const LIMIT_MS = 3_000;

test(`status of ${MANY} adapters takes at most ${LIMIT_MS / 1000} s, with its Role alone`, async () => {
  await using server = await startApiServer();
  const admin = new Kubectl(server.kubeconfig);
  await admin.run('apply', '--server-side', '-f', join(import.meta.dirname, '../../crds'));
  await server.crdsEstablished();
  await admin.run('create', 'namespace', 'many');
  const named = (index: number) => ({
    apiVersion: 'mcpadapter.io/v1alpha1',
    kind: 'McpAdapter',
    metadata: { name: `one-${index}`, namespace: 'many' },
    spec: { config: { servers: [{ id: 'a', mount_path: '/a', upstream: { url: 'http://a.example.com/mcp' } }] } },
  });
  await admin.apply(Array.from({ length: MANY }, (_, index) => named(index)));
  await using person = await newAccount(admin, 'many');
  await person.may(COMMANDS['status']?.rules ?? []);
  const started = performance.now();
  const run = await plugin(person.kubeconfig, ['status', '-o', 'json']);
  const took = performance.now() - started;
  // Nobody has looked at them: they are not as they should be.
  expect(run).toMatchObject({ code: 1, stderr: '' });
  expect((JSON.parse(run.stdout) as { items: unknown[] }).items).toHaveLength(MANY);
  expect(took).toBeLessThan(LIMIT_MS);
});
