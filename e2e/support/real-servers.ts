import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findChromium } from './chromium.ts';
import { type RunningProcess, startProcess } from './processes.ts';

/** The values of `upstream.transport`. */
export type UpstreamTransport = 'streamable_http' | 'sse';

/** A published MCP server in a process of its own. */
export interface RealServer extends RunningProcess {
  readonly transport: UpstreamTransport;
  /** The endpoint, as it stands in `upstream.url`. */
  readonly url: string;
}

const { resolve } = createRequire(import.meta.url);
const PRELOAD = fileURLToPath(new URL('real-server-preload.ts', import.meta.url));
const LISTENING = /listening on port (\d+)/;

/** Starts `@modelcontextprotocol/server-everything`, which knows the revisions with sessions only. */
export async function startEverythingServer(transport: UpstreamTransport, at = 0): Promise<RealServer> {
  const program = resolve('@modelcontextprotocol/server-everything/dist/index.js');
  const mode = transport === 'sse' ? 'sse' : 'streamableHttp';
  const { running, port } = await launch([program, mode], { PORT: String(at) });
  const path = transport === 'sse' ? 'sse' : 'mcp';
  return Object.assign(running, { transport, url: `http://127.0.0.1:${port}/${path}` });
}

/** The browser must reach nobody but the page of the test. */
export const BROWSER_ARGS = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-gpu',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
];

/**
 * Starts `@playwright/mcp` with a headless Chromium. Its output files go to a folder that is deleted with it, or to
 * `files`; it touches no files elsewhere. `workingFolder`: what it names its files from. `capabilities`: groups of tools
 * that it does not have by itself.
 */
export async function startPlaywrightServer(
  transport: UpstreamTransport,
  files?: string,
  workingFolder?: string,
  capabilities: readonly string[] = [],
): Promise<RealServer> {
  const chromium = await findChromium();
  const program = join(dirname(resolve('@playwright/mcp/package.json')), 'cli.js');
  const folder = await mkdtemp(join(tmpdir(), 'playwright-mcp-'));
  const config = join(folder, 'config.json');
  const launchOptions = { executablePath: chromium, headless: true, chromiumSandbox: false, args: BROWSER_ARGS };
  const browser = { browserName: 'chromium', isolated: true, launchOptions };
  await writeFile(config, JSON.stringify({ browser, capabilities }));
  const output = files ?? join(folder, 'output');
  const options = ['--config', config, '--output-dir', output, '--host', '127.0.0.1', '--port', '0'];
  const removeFolder = (): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 5 });
  const { running, port } = await launch([program, ...options], {
    HOME: folder,
    ...(workingFolder !== undefined && { WORKING_FOLDER: workingFolder }),
  }).catch(async (error: unknown) => {
    await removeFolder();
    throw error;
  });
  const path = transport === 'sse' ? 'sse' : 'mcp';
  const stop = running.stop.bind(running);
  return Object.assign(running, {
    transport,
    // The server compares the host that it is asked for with the name of its own address.
    url: `http://localhost:${port}/${path}`,
    async stop(graceMs?: number) {
      const exit = await stop(graceMs);
      await removeFolder();
      return exit;
    },
  });
}

/** Starts a server that is a program of Node, and waits until it listens. */
export async function launch(
  args: string[],
  env: NodeJS.ProcessEnv,
): Promise<{ running: RunningProcess; port: number }> {
  const running = startProcess(process.execPath, ['--import', PRELOAD, ...args], env);
  try {
    const [, port] = await running.waitForStdout(LISTENING);
    return { running, port: Number(port) };
  } catch (error) {
    running.kill();
    await running.exited;
    throw error;
  }
}
