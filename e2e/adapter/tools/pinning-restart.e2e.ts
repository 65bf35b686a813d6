import { afterEach, describe, expect, test } from 'vitest';
import { startEverythingServer } from '../../support/real-servers.ts';
import { mounted } from '../kit/deployment.ts';
import { startInProcess } from '../kit/in-process.ts';
import { openSession } from '../kit/session.ts';
import { POLICIES } from './kit/policies.ts';

/** A real server that is started again knows nothing of its sessions, and says so by 400. */
describe('after its server was started again, the first request of a session', () => {
  let started = new AsyncDisposableStack();
  afterEach(async () => {
    await started.disposeAsync();
    started = new AsyncDisposableStack();
  });

  test.for(['keep', 'subset_keep', 'warn'])('with policy %s may be a call, checked or in code mode', async (policy) => {
    const server = started.use(await startEverythingServer('streamable_http'));
    const tool_definition_pinning = POLICIES.find(({ id }) => id === policy)?.pinning;
    const servers = [
      mounted('plain', server.url, { tool_definition_pinning }),
      mounted('coded', server.url, { tool_definition_pinning, code_mode_enabled: true }),
    ];
    const adapter = started.use(await startInProcess({ servers }));
    const plain = (await openSession(adapter, { path: '/mcp/plain' })).at(adapter);
    const coded = (await openSession(adapter, { path: '/mcp/coded' })).at(adapter);
    for (const door of [plain, coded]) await door.call('tools/list');
    await coded.tool('coded_search', { query: 'echo' });

    server.kill();
    await server.exited;
    started.use(await startEverythingServer('streamable_http', Number(new URL(server.url).port)));

    expect(await plain.tool('echo', { message: 'again' })).toMatchObject({
      result: { content: [{ text: 'Echo: again' }] },
    });
    const found = await coded.tool('coded_search', { query: 'echo' });
    expect(JSON.stringify(found)).toContain('- echo');
    const code = "return (await call_tool('echo', { message: 'from code' })).text";
    expect(JSON.stringify(await coded.tool('coded_execute', { code }))).toContain('Echo: from code');
  });
});
