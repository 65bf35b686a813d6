import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Balancer, failedOf, startBalancer } from '../../support/balancer.ts';
import { connectV1 } from '../../support/real-client-v1.ts';
import { connectV2 } from '../../support/real-client-v2.ts';
import type { Answers, RealClient } from '../../support/real-client.ts';
import { startPlaywrightServer } from '../../support/real-servers.ts';
import { asObject } from '../../support/scripted-upstream/json-rpc.ts';
import { openSession, type Place } from '../kit/session.ts';
import { within } from '../kit/within.ts';
import { artifactOf, at, bytesOf, readResource } from './kit/artifacts.ts';
import { browserServer, isWholePng } from './kit/browser.ts';
import { type Crew, startCrew } from './kit/crew.ts';
import { sharedFolder } from './kit/folder.ts';
import { type UploadTarget, startUploadTarget } from './kit/upload-target.ts';
import { formFile, statusAndBody, uploaded, uploadTo } from './kit/uploads.ts';

const BROWSER = { path: '/mcp/browser' };
const RECEIVED_MS = 30_000;

/** A browser that takes files and makes pictures, behind three replicas with one folder and one Redis. */
describe('files and a browser, through three replicas,', () => {
  const started = new AsyncDisposableStack();
  let crew: Crew;
  let page: UploadTarget;
  let balancer: Balancer;

  beforeAll(async () => {
    const { path: root } = started.use(await sharedFolder());
    const browser = started.use(await startPlaywrightServer('streamable_http', root));
    page = started.use(await startUploadTarget());
    crew = started.use(await startCrew({ replicas: 3, root, config: { servers: [browserServer(browser.url)] } }));
    balancer = started.use(await startBalancer(crew.replicas.map(({ url }) => url)));
  });
  afterAll(() => started.disposeAsync());

  test('each step at another one', async () => {
    const [a, b, c] = [crew.at(0), crew.at(1), crew.at(2)];
    const session = await openSession(c, BROWSER);
    const file = formFile('notes.bin', 300_000);

    const [taken] = await uploaded(a, session.sessionId, [file], { server: 'browser' });
    await session.at(c).tool('browser_navigate', { url: page.url });
    await session.at(a).tool('browser_click', { element: 'File', target: 'input' });
    const handedIn = await session.at(b).tool('browser_file_upload', { paths: [taken?.handle ?? ''] });
    expect(asObject(handedIn.result).isError, JSON.stringify(handedIn)).not.toBe(true);
    const received = await within(RECEIVED_MS, 'the file at the page', page.received('notes.bin'));
    expect(received.equals(file.bytes)).toBe(true);

    const shot = artifactOf(await session.at(c).tool('browser_take_screenshot', { filename: 'page.png' }));
    expect(shot).toMatchObject({ filename: 'page.png', mimeType: 'image/png' });
    const stored = await readFile(join(crew.root, 'artifacts/sessions', session.sessionId, shot.id, 'page.png'));
    expect(isWholePng(stored)).toBe(true);
    expect(shot.size).toBe(stored.length);

    const read = await readResource(session.at(a), shot.uri);
    expect(read?.equals(stored)).toBe(true);
    const whole = await fetch(at(b, shot.downloadUrl));
    expect(whole.status).toBe(200);
    expect((await bytesOf(whole)).equals(stored)).toBe(true);
    const part = await fetch(at(b, shot.downloadUrl), { headers: { range: 'bytes=100-299' } });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 100-299/${stored.length}`]);
    expect((await bytesOf(part)).equals(stored.subarray(100, 300))).toBe(true);

    const ended = await session.at(b).end();
    expect(ended.status).toBe(200);
    expect(await statusAndBody(fetch(at(c, shot.downloadUrl)))).toMatchObject([404, { code: 'artifact_not_found' }]);
  });

  test.for([
    ['v1', connectV1],
    ['v2', connectV2],
  ] as const)('every request at the next one, with SDK %s', async ([sdk, connect]) => {
    const { url } = balancer;
    const answers: Answers = { sampling: '', elicitation: { action: 'decline' }, roots: [] };
    await using client = await connect({ url: `${url}/mcp/browser`, transport: 'streamable_http', answers });
    await client.callTool('browser_navigate', { url: page.url });
    for (const [round, replica] of crew.replicas.entries()) {
      const name = `${sdk}-${round}.bin`;
      const file = formFile(name, 50_000);
      const handle = await uploadAsTold(client, replica, file);
      await client.callTool('browser_click', { element: 'File', target: 'input' });
      await client.callTool('browser_file_upload', { paths: [handle] });
      const received = await within(RECEIVED_MS, 'the file at the page', page.received(name));
      expect(received.equals(file.bytes)).toBe(true);

      const shot = artifactOf({ result: await client.callTool('browser_take_screenshot', { filename: 'page.png' }) });
      const { contents } = await client.request('resources/read', { uri: shot.uri });
      const { blob } = asObject((contents as unknown[])[0]);
      const picture = Buffer.from(String(blob), 'base64');
      expect(isWholePng(picture)).toBe(true);
      expect((await bytesOf(fetch(shot.downloadUrl ?? ''))).equals(picture)).toBe(true);
      const listed = await client.request('resources/list', {});
      expect(JSON.stringify(listed)).toContain(shot.uri);
    }
    expect(failedOf(balancer.requests)).toEqual([]);
  });
});

/** Uploads a file as the helper tool says, but at one replica, whatever the balancer's turn is; resolves with its handle. */
async function uploadAsTold(client: RealClient, replica: Place, file: ReturnType<typeof formFile>): Promise<string> {
  const { structuredContent } = await client.callTool('browser_get_upload_url');
  const { upload_url: url, headers } = asObject(structuredContent);
  const [status, body] = await statusAndBody(
    uploadTo(at(replica, String(url)), [file], { headers: asObject(headers) as Record<string, string> }),
  );
  expect(status, JSON.stringify(body)).toBe(200);
  return String(asObject(body).upload_handle);
}
