import { join } from 'node:path';
import { cached, runs } from '../../../sdks/cached.ts';
import { findChromium } from '../../../support/chromium.ts';
import { freePort } from '../../../support/ports.ts';
import { startProcess } from '../../../support/processes.ts';
import { BROWSER_ARGS } from '../../../support/real-servers.ts';
import { listening, type PublishedServer } from './listening.ts';

/** Published servers, as of the day that their tools were read. */
export const NODE_SERVERS = [
  '@negokaz/excel-mcp-server@0.12.0',
  '@sylphx/pdf-reader-mcp@2.4.0',
  'chrome-devtools-mcp@1.11.0',
  '@modelcontextprotocol/server-filesystem@2026.8.31',
];
/** They speak over stdio only: this makes Streamable HTTP of it. */
const BRIDGE = 'mcp-proxy@6.7.19';

const installed = (): Promise<string> =>
  cached('node-file-servers-1', async (folder) => {
    const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel', 'error', '--prefix', folder];
    await runs('npm', ['install', ...options, BRIDGE, ...NODE_SERVERS], folder);
  });

/** `@negokaz/excel-mcp-server` */
export const startOtherExcel = (folder: string): Promise<PublishedServer> =>
  bridged('@negokaz/excel-mcp-server/dist/launcher.js', [], folder);

/** `@sylphx/pdf-reader-mcp`, which reads nothing outside of `root`. */
export const startPdfReader = (root: string): Promise<PublishedServer> =>
  bridged('@sylphx/pdf-reader-mcp/dist/index.js', [`--allow-dir=${root}`, '--no-http'], root);

/** The same, which reads nothing of this machine and asks this host only. */
export const startPdfFetcher = (folder: string, host: string): Promise<PublishedServer> =>
  bridged('@sylphx/pdf-reader-mcp/dist/index.js', [`--allow-dir=${folder}`, `--allow-host=${host}`], folder);

/** `@modelcontextprotocol/server-filesystem`, which touches nothing outside of `root`. */
export const startFilesystem = (root: string): Promise<PublishedServer> =>
  bridged('@modelcontextprotocol/server-filesystem/dist/index.js', [root], root);

/** Chrome DevTools asks nobody else. */
const PRIVATE = ['--no-usage-statistics', '--no-performance-crux'];

/** `chrome-devtools-mcp` with a headless Chromium, which touches nothing outside of `root`. */
export async function startChromeDevtools(root: string): Promise<PublishedServer> {
  const chromium = await findChromium();
  const browser = ['--no-sandbox', ...BROWSER_ARGS].map((arg) => `--chromeArg=${arg}`);
  return bridged(
    'chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js',
    ['--headless', '--isolated', '--executablePath', chromium, ...browser, '--filesystemRoot', root, ...PRIVATE],
    root,
  );
}

/** A program of Node behind the bridge, working in `folder`. */
async function bridged(program: string, args: readonly string[], folder: string): Promise<PublishedServer> {
  const modules = join(await installed(), 'node_modules');
  const port = String(await freePort());
  const bridge = [join(modules, 'mcp-proxy/dist/bin/mcp-proxy.mjs'), '--server', 'stream'];
  const address = ['--host', '127.0.0.1', '--port', port];
  const command = [process.execPath, ...bridge, ...address, '--', process.execPath, join(modules, program), ...args];
  const running = startProcess('env', ['-C', folder, ...command]);
  return listening(running, program, `http://127.0.0.1:${port}/mcp`);
}
