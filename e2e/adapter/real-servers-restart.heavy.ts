import { afterEach, describe, expect, test } from 'vitest';
import type { Answers } from '../support/real-client.ts';
import { connectV1 } from '../support/real-client-v1.ts';
import { connectV2 } from '../support/real-client-v2.ts';
import { openRawClient, readEvents, type SseEvent } from '../support/raw-client.ts';
import { startEverythingServer } from '../support/real-servers.ts';
import { type Deployment, startGateway } from './real-servers/gateway.ts';

const DEPLOYMENTS: Deployment[] = ['one process', 'two replicas behind a round-robin balancer'];
const CLIENTS = { v1: connectV1, v2: connectV2 };
const TEXT = 'demo://resource/dynamic/text/1';

const cases = DEPLOYMENTS.flatMap((deployment) =>
  (['streamable_http', 'sse'] as const).flatMap((transport) =>
    (['v1', 'v2'] as const).map((sdk) => ({ deployment, transport, sdk })),
  ),
);

/** A restarted server knows nothing of its sessions; a client of the adapter does not have to notice. */
describe('a session whose server is started again', () => {
  let started = new AsyncDisposableStack();
  afterEach(async () => {
    await started.disposeAsync();
    started = new AsyncDisposableStack();
  });

  test.for(cases)('goes on over $transport with SDK $sdk and $deployment', async ({ deployment, transport, sdk }) => {
    const answers: Answers = { sampling: 'an answer', elicitation: { action: 'decline' }, roots: [] };
    const server = started.use(await startEverythingServer(transport));
    const { mountUrl } = started.use(await startGateway(deployment, server));
    const client = started.use(await CLIENTS[sdk]({ url: mountUrl, transport: 'streamable_http', answers }));
    await client.request('logging/setLevel', { level: 'debug' });
    await client.request('resources/subscribe', { uri: TEXT });
    // It comes on the session's own stream, so from now on the client resumes that stream behind this event.
    await client.waitForMessage(({ method }) => method === 'notifications/message');
    const streams = client.streams();

    server.kill();
    await server.exited;
    started.use(await startEverythingServer(transport, Number(new URL(server.url).port)));
    expect(await client.callTool('echo', { message: 'again' })).toMatchObject({ content: [{ text: 'Echo: again' }] });
    expect(JSON.stringify(await client.callTool('trigger-sampling-request', { prompt: 'Hello' }))).toContain(
      'an answer',
    );

    // Over HTTP+SSE the adapter keeps the client's stream; otherwise the client opens it again.
    if (transport === 'streamable_http')
      await expect.poll(() => client.streams(), { timeout: 40_000 }).toBeGreaterThan(streams);
    await client.callTool('toggle-subscriber-updates');
    await client.waitForMessage(
      ({ method, params }) => method === 'notifications/resources/updated' && params?.uri === TEXT,
    );
    await client.callTool('toggle-simulated-logging');
    await client.waitForMessage(({ params }) => /level.message - SessionId/.test(String(params?.data)));
  });

  test('can resume what it was sent since, and nobody who resumes what was lost takes its stream away', async () => {
    const server = started.use(await startEverythingServer('streamable_http'));
    const { mountUrl } = started.use(await startGateway('one process', server));
    const client = await openRawClient(mountUrl);
    const before = await firstEvent(await client.request('tools/call', { name: 'echo', arguments: { message: 'x' } }));
    server.kill();
    await server.exited;
    started.use(await startEverythingServer('streamable_http', Number(new URL(server.url).port)));
    await client.callTool('echo', { message: 'again' });

    const closed = new AbortController();
    started.defer(() => closed.abort());
    const stream = await client.get(undefined, closed.signal);
    expect(stream.status).toBe(200);
    expect((await client.get(before.id)).status).toBe(409);
    await client.call('resources/subscribe', { uri: TEXT });
    expect((await firstEvent(stream)).data).toContain(TEXT);

    // This server sends again what it has sent already, but forgets a running call whose stream is resumed.
    const answer = await client.request('tools/call', { name: 'echo', arguments: { message: 'since' } });
    const events: SseEvent[] = [];
    for await (const event of readEvents(answer)) events.push(event);
    expect(events).toMatchObject([{ data: '' }, { data: expect.stringContaining('Echo: since') }]);
    const resumed = await client.get(events[0]?.id, AbortSignal.timeout(10_000));
    for await (const { data } of readEvents(resumed)) if (data.includes('Echo: since')) return;
    expect.unreachable('the stream has ended without the result');
  });
});

async function firstEvent(response: Response): Promise<SseEvent> {
  const { value } = await readEvents(response).next();
  if (value === undefined) throw new Error('the stream has no event');
  return value;
}
