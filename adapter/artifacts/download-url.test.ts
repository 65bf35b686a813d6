import { expect, test } from 'vitest';

import { openSession, verifyDownload } from '../files/urls/signed-url.ts';
import { fileRecord } from '../files/testing/stored-files.ts';
import { downloadUrl } from './download-url.ts';

const NOW = 1_000_500;
const file = fileRecord({ kind: 'artifact', serverId: 'srv é', filename: 'a.txt' });
const here = { secret: 'secret', files: { url: async () => undefined } };

test('a download URL is signed for whole seconds, at least one', async () => {
  for (const [ttlSeconds, exp] of [
    [600, 1600],
    [0.2, 1001],
    [1.5, 1002],
  ] as const) {
    const url = new URL(await downloadUrl({ ...here, ttlSeconds }, file, 'https://host/base', NOW));
    const deps = (url.origin + url.pathname).split('/');
    const [session = ''] = deps.splice(-3, 1);
    expect(deps.join('/')).toBe(`https://host/base/artifacts/srv%20%C3%A9/${file.fileId}/a.txt`);
    expect(openSession('secret', session)).toBe(file.sessionId);
    expect(url.searchParams.get('mcp_artifact_exp')).toBe(String(exp));
    const claim = { serverId: 'srv é', sessionId: file.sessionId, artifactId: file.fileId, filename: 'a.txt' };
    expect(verifyDownload('secret', claim, url.searchParams, NOW)).toBe('valid');
    expect(verifyDownload('secret', claim, url.searchParams, (exp + 1) * 1000)).toBe('expired');
  }
});

test('a download URL does not tell the session', async () => {
  const urls = await Promise.all([1, 2].map(() => downloadUrl({ ...here, ttlSeconds: 60 }, file, 'https://host', NOW)));
  expect(urls.join(' ')).not.toContain(file.sessionId);
  expect(urls[0]).not.toBe(urls[1]);
});

test('where the bytes have object storage, the URL leads there', async () => {
  const asked: unknown[] = [];
  const url = async (one: object, options: object): Promise<string> => {
    asked.push(one, options);
    return 'https://bucket/a.txt';
  };
  const options = { secret: 'secret', ttlSeconds: 0.5, files: { url } };
  expect(await downloadUrl(options, file, 'https://host', NOW)).toBe('https://bucket/a.txt');
  expect(asked).toEqual([file, { expiresInSeconds: 1, as: 'attachment' }]);
});
