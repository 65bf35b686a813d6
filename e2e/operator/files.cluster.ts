import { describe, expect } from 'vitest';
import { artifactOf, at as elsewhere, bytesOf, readResource } from '../adapter/files/kit/artifacts.ts';
import { browserServer, isWholePng } from '../adapter/files/kit/browser.ts';
import { startUploadTarget } from '../adapter/files/kit/upload-target.ts';
import { formFile, statusAndBody, uploaded } from '../adapter/files/kit/uploads.ts';
import { openSession, type Place } from '../adapter/kit/session.ts';
import { within } from '../adapter/kit/within.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { at } from '../cluster/kubectl.ts';
import { test } from '../cluster/test.ts';
import { asObject } from '../support/scripted-upstream/json-rpc.ts';
import { browser } from './kit/browser.ts';
import { adapter, onRedis, redis, shared } from './kit/resources.ts';

const READY_MS = 180_000;
const RECEIVED_MS = 30_000;
const NAME = 'files';

describe('three adapters and a browser that share a volume', () => {
  test(
    'a file goes up through one, reaches a page, and a picture comes back',
    { timeout: 300_000 },
    async ({ operated }) => {
      await using namespace = await operated.namespace('files');
      await using page = await startUploadTarget(operated.nodeAddress);
      const url = 'http://browser:8931/mcp';
      const config = {
        ...onRedis('redis'),
        core: { allow_artifacts_download: true },
        // Literal secrets have no place in a resource.
        servers: [{ ...browserServer(url), upstream: { url } }],
      };
      const resources = [...redis('redis'), adapter(NAME, shared(3), config)];
      const image = await productImageOf(operated);
      const upstream = browser('browser', `${NAME}-storage`, image, operated.nodeAddress);
      await operated.apply([...resources, ...upstream], '-n', namespace.name);
      const where = { namespace: namespace.name, timeoutMs: READY_MS };
      await operated.waitForRollout('browser', where);
      for (const type of ['Ready', 'UpstreamsHealthy', 'StateStoreReady']) {
        await operated.waitForCondition('mcpadapter', NAME, type, 'True', where);
      }
      const [a, b, c] = await placesOf(operated, namespace.name);
      if (a === undefined || b === undefined || c === undefined) throw new Error('there are not three pods');

      const session = await openSession(c, { path: '/mcp/browser' });
      const file = formFile('notes.bin', 300_000);
      const [taken] = await uploaded(a, session.sessionId, [file], { server: 'browser' });
      await session.at(c).tool('browser_navigate', { url: page.url });
      await session.at(a).tool('browser_click', { element: 'File', target: 'input' });
      const handedIn = await session.at(b).tool('browser_file_upload', { paths: [taken?.handle ?? ''] });
      expect(asObject(handedIn.result).isError, JSON.stringify(handedIn)).not.toBe(true);
      const received = await within(RECEIVED_MS, 'the file at the page', page.received('notes.bin'));
      expect(received.equals(file.bytes)).toBe(true);

      const shot = artifactOf(await session.at(c).tool('browser_take_screenshot', { filename: 'page.png' }));
      const picture = await readResource(session.at(a), shot.uri);
      if (picture === undefined) throw new Error('there is no such resource');
      expect(isWholePng(picture)).toBe(true);
      expect(shot).toMatchObject({ mimeType: 'image/png', size: picture.length });
      const part = await fetch(elsewhere(b, shot.downloadUrl), { headers: { range: 'bytes=100-299' } });
      expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 100-299/${picture.length}`]);
      expect((await bytesOf(part)).equals(picture.subarray(100, 300))).toBe(true);

      expect((await session.at(b).end()).status).toBe(200);
      expect(await statusAndBody(fetch(elsewhere(a, shot.downloadUrl)))).toMatchObject([
        404,
        { code: 'artifact_not_found' },
      ]);
      expect(await lyingIn(operated, namespace.name)).toBe('');
    },
  );
});

/** The pods themselves, so that a test chooses which one it speaks to. */
async function placesOf(cluster: Cluster, namespace: string): Promise<Place[]> {
  const pods = await cluster.list('pod', namespace, `mcpadapter.io/adapter=${NAME}`);
  const alive = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return alive.map((pod) => ({ url: `http://${String(at(pod, 'status', 'podIP'))}:8932` }));
}

/** The files of all sessions on the volume, one to a line. */
async function lyingIn(cluster: Cluster, namespace: string): Promise<string> {
  const find = ['find', '/data/shared/uploads', '/data/shared/artifacts', '-type', 'f'];
  return (await cluster.run('exec', '-n', namespace, 'deployment/browser', '--', ...find)).trim();
}

async function productImageOf(cluster: Cluster): Promise<string> {
  const deployment = await cluster.list('deployment', 'mcp-operator');
  return String(at(deployment[0], 'spec', 'template', 'spec', 'containers', 0, 'image'));
}
