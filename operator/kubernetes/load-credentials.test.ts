import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { loadCredentials } from './load-credentials.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'credentials-'));
  vi.stubEnv('HOME', folder);
  vi.stubEnv('KUBECONFIG', '');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

describe('without credentials that can be used', () => {
  test('where there are none, it says which would do', async () => {
    await expect(loadCredentials({})).rejects.toThrow(
      'the kubeconfig ~/.kube/config cannot be used: it does not exist, $KUBECONFIG is unset, and this is no pod; ' +
        'give --kubeconfig FILE',
    );
  });

  test.for([
    ['empty', ''],
    ['broken', 'clusters: ['],
    ['no kubeconfig', 'a: 1'],
    ['without a context', 'apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\nusers: []\n'],
  ] as const)('the file is named: %s', async ([, text]) => {
    const file = join(folder, 'kubeconfig');
    await writeFile(file, text);
    const message = `the kubeconfig ${file} cannot be used: `;
    await expect(loadCredentials({}, file)).rejects.toThrow(message);
    vi.stubEnv('KUBECONFIG', file);
    await expect(loadCredentials(process.env)).rejects.toThrow(message);
  });

  test('a file that is missing is named', async () => {
    const file = join(folder, 'missing');
    await expect(loadCredentials({}, file)).rejects.toThrow(`the kubeconfig ${file} cannot be used: ENOENT`);
  });
});

test('a kubeconfig leads to its API server', async () => {
  const file = join(folder, 'kubeconfig');
  const document = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
    clusters: [{ name: 'k', cluster: { server: 'https://kubernetes.example:6443/' } }],
    users: [{ name: 'u', user: { token: 'word' } }],
  };
  await writeFile(file, JSON.stringify(document));
  const credentials = await loadCredentials({}, file);
  expect(await credentials.current()).toMatchObject({
    server: 'https://kubernetes.example:6443',
    headers: { authorization: 'Bearer word' },
  });
});
