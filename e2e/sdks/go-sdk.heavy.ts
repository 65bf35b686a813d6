import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Deployment, mounted, startDeployment } from '../adapter/kit/deployment.ts';
import { type Requirements, regressions, runConformance } from '../conformance/run-conformance.ts';
import { freePort } from '../support/ports.ts';
import { startProcess } from '../support/processes.ts';
import { cached, missing, runs } from './cached.ts';

const MODULE = 'github.com/modelcontextprotocol/go-sdk@v1.8.0';
const CLIENTS = ['examples/client/listfeatures', 'examples/client/loadtest'];
const FIXTURE = 'conformance/everything-server';
const SERVERS: Readonly<Record<string, { readonly program: string; readonly args?: readonly string[] }>> = {
  everything: { program: 'examples/server/everything' },
  memory: { program: 'examples/server/memory' },
  thinking: { program: 'examples/server/sequentialthinking' },
  '2025-11-25': { program: FIXTURE, args: ['-stateless=false'] },
  '2026-07-28': { program: FIXTURE },
};
const LIMIT_MS = 300_000;

/** The SDK's own programs, as published. */
const built = (): Promise<string> =>
  cached(`go-sdk-${MODULE.split('@')[1]}`, async (folder) => {
    const { Dir } = JSON.parse(await runs('go', ['mod', 'download', '-json', MODULE])) as { Dir: string };
    const programs = new Set([...CLIENTS, ...Object.values(SERVERS).map(({ program }) => program)]);
    for (const one of programs) await runs('go', ['build', '-C', Dir, '-o', join(folder, one), `./${one}`]);
  });

const reason = await missing('go', 'version');

describe.skipIf(reason !== undefined)(`the Go SDK ${reason ?? ''}`, () => {
  const opened = new AsyncDisposableStack();
  const urls = new Map<string, string>();
  let programs: string;
  let deployment: Deployment;

  beforeAll(async () => {
    programs = await built();
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
