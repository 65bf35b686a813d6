import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';
import { EventReader, isResponse } from '../kit/events.ts';
import { openSession, type Session } from '../kit/session.ts';
import { artifactOf, readResource } from './kit/artifacts.ts';

const PRODUCER = { type: 'artifact_producer', tools: ['report', 'poll'], output_path_argument: 'path' };

describe('a tool that writes a file, and whose client takes its call up again at the other replica,', () => {
  let upstream: ScriptedUpstream;
  let deployment: Deployment;
  let session: Session;

  beforeAll(async () => {
    upstream = await startScriptedUpstream({ eventIds: true, retryMs: 50, answers: 'sse' });
    for (const [name, isPolled] of [
      ['report', false],
      ['poll', true],
    ] as const) {
      upstream.tools.set(name, {
        definition: { inputSchema: { type: 'object', properties: { path: { type: 'string' } } } },
        async call(scripted) {
          const { path, key } = scripted.arguments;
          if (isPolled) scripted.stream().detach();
          await scripted.released(String(key));
          await writeFile(String(path), `bytes of ${String(key)}`);
          return { content: [{ type: 'text', text: 'written' }] };
        },
      });
    }
    const servers = [mounted('up', upstream.url, { adapters: [PRODUCER] })];
    deployment = await startDeployment({ config: { servers } });
  });
  beforeEach(async () => {
    session = await openSession(deployment.a);
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
  });

  /** Takes the call up again, lets the tool write, and looks at what came of it. */
  async function expectArtifact(lastEventId: string | undefined, key: string): Promise<void> {
    const { a, b } = deployment;
    const resumed = new EventReader(await session.at(b).stream({ lastEventId }));
    upstream.release(key);
    const artifact = artifactOf(await resumed.message(isResponse));
    expect(artifact).toMatchObject({ filename: 'out.txt', size: `bytes of ${key}`.length });
    expect(String(await readResource(session.at(a), artifact.uri))).toBe(`bytes of ${key}`);
  }

  test('because the server lets it poll', async () => {
    const params = { name: 'poll', arguments: { path: 'out.txt', key: 'polled' } };
    const call = new EventReader(await session.at(deployment.a).request('tools/call', params));
    expect(await call.rest()).toEqual([]);
    await expectArtifact(call.lastEventId, 'polled');
  });

  test('because the server broke off', async () => {
    const params = { name: 'report', arguments: { path: 'out.txt', key: 'broken' } };
    const call = new EventReader(await session.at(deployment.a).request('tools/call', params));
    await call.event();
    upstream.breakStreams();
    expect(await call.rest()).toEqual([]);
    await expectArtifact(call.lastEventId, 'broken');
  });
});
