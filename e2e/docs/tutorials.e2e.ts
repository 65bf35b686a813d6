import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RunningProcess, describe as told, startProcess } from '../support/processes.ts';
import { stepsOf } from './tutorial.ts';

const ROOT = join(import.meta.dirname, '../..');
/** All that runs without a cluster. The blocks of other pages are run by the suites `cluster`, or are parts of a file. */
const PAGES = ['README.md', 'docs/start/local.md', 'docs/adapter/files.md', 'docs/scraper/overview.md'];
/** Those of the tutorials, which are written as they are. */
const PORTS = [8932, 8941, 8942];
/** Commands that go on until they are stopped, and what they say when they are ready. */
const SERVERS: Readonly<Record<string, RegExp>> = {
  'npm start': /MCP endpoint/,
  'npm run -s demo-api': /listening/,
  'npm run -s scraper -- --config examples/scraper/scraper.yaml': /"msg":"listening"/,
};
/** They need a cluster, or are this test. */
const ELSEWHERE = /^(docker|helm|kubectl) |^npm test/m;
/** Files that the tutorials make. */
const WRITTEN = ['adapter.yaml', 'sales.md'];
const TIMEOUT_MS = 60_000;

let dataDir: string;
let before: readonly string[];
const servers: RunningProcess[] = [];
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tutorial-'));
  before = await readdir(ROOT);
});
afterEach(async () => {
  for (const server of servers.splice(0).toReversed()) await server.stop();
  await rm(dataDir, { recursive: true, force: true });
  // What the commands have written into the folder that readers are in.
  for (const name of WRITTEN) if (!before.includes(name)) await rm(join(ROOT, name), { force: true });
});

const start = (commands: string): RunningProcess =>
  startProcess('env', ['-C', ROOT, 'sh', '-ec', commands], { DATA_DIR: dataDir, NO_COLOR: '1' });

async function portInUse(): Promise<number | undefined> {
  for (const port of PORTS) {
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) return port;
    await new Promise((resolve) => server.close(resolve));
  }
  return undefined;
}

/** How many records there are depends on the time. */
const withoutCounts = (text: string): string =>
  text.replaceAll(/\d+ (windows?|records?)/g, '# $1').replaceAll(/# (window|record)s?/g, '# $1');

describe.for(PAGES)('%s', (page) => {
  const steps = stepsOf(readFileSync(join(ROOT, page), 'utf8')).filter(({ commands }) => !ELSEWHERE.test(commands));

  test('every command works as it stands there', async ({ skip }) => {
    const port = await portInUse();
    if (port !== undefined) skip(`port ${port} is in use, which the page names`);
    const mine = WRITTEN.find((name) => before.includes(name));
    if (mine !== undefined) skip(`${mine} is there already, which the page has written`);
    expect(steps.length).toBeGreaterThan(1);
    for (const { commands, output, files } of steps) {
      for (const [name, text] of Object.entries(files)) {
        expect(WRITTEN).toContain(name);
        await writeFile(join(ROOT, name), text);
      }
      const ready = SERVERS[commands];
      // With `exec`, the signal that stops it reaches the program.
      const running = start(ready === undefined ? commands : `exec ${commands}`);
      servers.push(running);
      if (ready !== undefined) {
        await running.waitForStdout(ready, TIMEOUT_MS);
        continue;
      }
      const exit = await running.exitsWithin(TIMEOUT_MS);
      expect(exit, told(commands, running)).toEqual({ code: 0, signal: null });
      if (output !== undefined) expect(withoutCounts(running.stdout().trim())).toBe(withoutCounts(output));
    }
  });
});
