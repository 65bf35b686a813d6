import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectV1 } from '../../support/real-client-v1.ts';
import { connectV2 } from '../../support/real-client-v2.ts';
import { startPlaywrightServer, type UpstreamTransport } from '../../support/real-servers.ts';
import { ANSWERED_PINGS, type Deployment, type Gateway, startGateway } from './gateway.ts';
import { callTool, openPair, type Pair } from './pair.ts';
import { STEPS } from './playwright-steps.ts';
import { startTestPage, type TestPage } from './test-page.ts';
import { FILE_TIME, FOLDER, steady } from './volatile.ts';

const CONNECT = { v1: connectV1, v2: connectV2 };

/** A browser behind the adapter does and tells the same as one without it. Each client has a server of its own. */
export function playwrightSuite(
  deployment: Deployment,
  transport: UpstreamTransport,
  sdks: readonly (keyof typeof CONNECT)[],
): void {
  describe.for(sdks)('with SDK %s', (sdk) => {
    const started = new AsyncDisposableStack();
    let parts: { readonly page: TestPage; readonly gateway: Gateway; readonly pair: Pair } | undefined;
    const running = (): NonNullable<typeof parts> => {
      if (parts === undefined) throw new Error('the servers have not started');
      return parts;
    };

    beforeAll(async () => {
      const page = started.use(await startTestPage());
      const alone = started.use(await startPlaywrightServer(transport));
      const behind = started.use(await startPlaywrightServer(transport));
      const gateway = started.use(await startGateway(deployment, behind));
      const pair = started.use(await openPair(CONNECT[sdk], alone, gateway.mountUrl));
      parts = { page, gateway, pair };
    });
    afterAll(() => started.disposeAsync());

    async function expectSame(shows: string, tool: string, args?: Record<string, unknown>): Promise<void> {
      const { direct, through } = await running().pair.bothAtOnce((client) => callTool(client, tool, args));
      expect(steady(through, FOLDER, FILE_TIME)).toEqual(steady(direct, FOLDER, FILE_TIME));
      expect(JSON.stringify(through)).toContain(shows);
    }

    test('the handshake is the same', () => {
      const { direct, through } = running().pair;
      expect(through.initialized).toEqual(direct.initialized);
      expect(through.initialized).toMatchObject({ serverInfo: { name: 'Playwright' }, capabilities: { tools: {} } });
    });

    test('the tools are the same', async () => {
      const { direct, through } = await running().pair.both((client) => client.request('tools/list'));
      expect(through).toEqual(direct);
      expect(JSON.stringify(through)).toContain('browser_take_screenshot');
    });

    test('the same is told when the page is opened', async () => {
      await expectSame('Page Title: Greeter', 'browser_navigate', { url: running().page.url });
    });

    test.for(STEPS)('the same is told when $what', ({ tool, args, shows }) => expectSame(shows, tool, args));

    test('the server has asked for the roots, in which it shows its files', () => {
      const { direct, through } = running().pair;
      for (const client of [direct, through])
        expect(client.received).toContainEqual(expect.objectContaining(ASKS_ROOTS));
    });

    // Over HTTP+SSE the server does not do this.
    if (transport === 'streamable_http') {
      test('the client is heard when the server checks every 3 s whether it is still there', async () => {
        const { direct, through } = await running().pair.bothAtOnce(async (client) => {
          // The first comes with the first call, each other one only after the answer to the one before.
          let pings = 0;
          await client.waitForMessage(({ method }) => method === 'ping' && (pings += 1) === 3);
          return callTool(client, 'browser_evaluate', { function: '() => document.title' });
        });
        expect(through).toEqual(direct);
        expect(JSON.stringify(through)).toContain('Greeter');
      });
    }

    test('the same is told when the browser is closed', async () => {
      await expectSame('No open tabs', 'browser_close');
    });

    test('the server has answered all pings, and the adapter has had nothing to warn of', async () => {
      expect(await running().gateway.health()).toMatchObject({ status: 'ok', servers: [{ ping: ANSWERED_PINGS }] });
      expect(running().gateway.warnings()).toEqual([]);
    });
  });
}

const ASKS_ROOTS = { method: 'roots/list' };
