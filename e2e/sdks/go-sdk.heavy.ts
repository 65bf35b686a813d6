import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Deployment, mounted, startDeployment } from '../adapter/kit/deployment.ts';
import { type Requirements, regressions, runConformance } from '../conformance/run-conformance.ts';
import { freePort } from '../support/ports.ts';
import { startProcess } from '../support/processes.ts';
import { missing } from './cached.ts';
import { goPrograms } from './go-programs.ts';

const SERVERS: Readonly<Record<string, { readonly program: string; readonly args?: readonly string[] }>> = {
  everything: { program: 'examples/server/everything' },
  memory: { program: 'examples/server/memory' },
  thinking: { program: 'examples/server/sequentialthinking' },
  '2025-11-25': { program: 'conformance/everything-server', args: ['-stateless=false'] },
  '2026-07-28': { program: 'conformance/everything-server' },
};
const LIMIT_MS = 300_000;

const reason = await missing('go', 'version');

describe.skipIf(reason !== undefined)(`the Go SDK ${reason ?? ''}`, () => {
  const opened = new AsyncDisposableStack();
  const urls = new Map<string, string>();
  let programs: string;
  let deployment: Deployment;

  beforeAll(async () => {
    programs = await goPrograms();
    for (const [id, { program, args = [] }] of Object.entries(SERVERS)) {
      const address = `127.0.0.1:${await freePort()}`;
      opened.use(startProcess(join(programs, program), ['-http', address, ...args]));
      urls.set(id, `http://${address}/`);
    }
    const servers = [...urls].map(([id, url]) => mounted(id, url));
    deployment = opened.use(
      await startDeployment({ config: { servers, uploads: { enabled: false }, artifacts: { enabled: false } } }),
    );
  }, LIMIT_MS);
  afterAll(() => opened.disposeAsync());

  const direct = (id: string): string => urls.get(id) ?? '';
  const through = (id: string): string => `${deployment.balancer.url}/mcp/${id}`;
  const said = async (program: string, args: readonly string[]): Promise<string> => {
    await using running = startProcess(join(programs, program), args);
    await running.exitsWithin(60_000);
    return running.stdout();
  };

  test.each(['everything', 'memory', 'thinking'])('lists what its example %s has', async (id) => {
    const list = (url: string): Promise<string> => said('examples/client/listfeatures', [`-http=${url}`]);
    const listed = await list(through(id));
    expect(listed).toMatch(/^tools:\n\t\w/);
    expect(listed).toBe(await list(direct(id)));
  });

  test('calls its example’s tools, by many clients at once', async () => {
    const args = ['-duration=3s', '-workers=5', '-qps=20', '-timeout=10s', '-tool=greet', '-args={"name":"Ann"}'];
    const stats = await said('examples/client/loadtest', [...args, through('everything')]);
    expect(stats).toMatch(/success: [1-9]\d\d /);
    expect(stats).toMatch(/failure: 0 /);
  });

  test.each<Requirements>(['2025-11-25', '2026-07-28'])(
    'has a server that conforms to %s as it does without',
    { timeout: LIMIT_MS },
    async (requirements) => {
      const before = await runConformance({ url: direct(requirements), requirements });
      const after = await runConformance({ url: through(requirements), requirements });
      expect(before.passed).toBeGreaterThan(70);
      expect(regressions(before, after)).toEqual([]);
    },
  );
});
