/** `npm start`: the adapter in front of a demo MCP server, on this machine only. */
import { createServer } from 'node:net';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readableLine } from './quickstart/log-line.ts';
import { type Program, startProgram } from './quickstart/program.ts';

const DEFAULT_PORT = 8932;
const USAGE = `Usage: npm start [-- options]

Runs the adapter with examples/quickstart/adapter.yaml in front of a demo MCP server, until Ctrl-C.

Options:
  --port NUMBER  TCP port of the adapter (default ${DEFAULT_PORT}; 0 takes a free one)
  --help         this text

Environment:
  DATA_DIR       where the adapter keeps its state (default .data)
`;

/** How long running calls may go on after Ctrl-C, and how long the programs may then take to end. */
const GRACE_SECONDS = 5;
const STOP_MS = (GRACE_SECONDS + 5) * 1000;

const root = join(import.meta.dirname, '..');
const config = join(root, 'examples/quickstart/adapter.yaml');

/** @returns the exit code */
async function start(port: number): Promise<number> {
  if (port !== 0 && !(await isFree(port))) {
    console.error(`Port ${port} of 127.0.0.1 is in use. Let the adapter take a free one:  npm start -- --port 0`);
    return 1;
  }
  const { promise: interrupted, resolve: interrupt } = Promise.withResolvers<undefined>();
  // npm repeats the signals that it gets, so each may come twice.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupt(undefined));

  const running: Program[] = [];
  try {
    const upstream = startProgram({
      args: [join(root, 'examples/quickstart/upstream.ts'), '--port', '0'],
      env: process.env,
      ready: /listening: (\S+)/,
      onLine: console.log,
    });
    running.unshift(upstream);
    const upstreamUrl = (await Promise.race([upstream.ready, interrupted]))?.[1];
    if (upstreamUrl === undefined) return 0;

    const adapter = startProgram({
      args: [join(root, 'adapter/main.ts'), '--config', config, '--port', String(port)],
      env: {
        ...process.env,
        UPSTREAM_URL: upstreamUrl,
        DATA_DIR: process.env['DATA_DIR'] || join(root, '.data'),
        MCP_ADAPTER_SHUTDOWN_TIMEOUT_SECONDS: String(GRACE_SECONDS),
      },
      ready: /"msg":"listening","url":"([^"]+)"/,
      onLine: (line) => console.log(readableLine(line)),
    });
    running.unshift(adapter);
    const url = (await Promise.race([adapter.ready, interrupted]))?.[1];
    if (url === undefined) return 0;
    console.log(welcome(url));

    const end = await Promise.race([
      interrupted,
      adapter.ended.then((how) => `the adapter ended: ${how}`),
      upstream.ended.then((how) => `the demo upstream ended: ${how}`),
    ]);
    if (end === undefined) return 0;
    console.error(end);
    return 1;
  } finally {
    // The adapter first: it ends its sessions upstream.
    for (const program of running) await program.stop(STOP_MS);
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

function welcome(url: string): string {
  const mount = `${url}/mcp/demo`;
  return `
The adapter runs in front of a demo MCP server.

  MCP endpoint  ${mount}
  Health        ${url}/healthz

Call a tool through it, from another terminal in this folder:

  npm run -s client -- ${mount} word_count '{"text":"hello world"}'

Or let an MCP client use it (transport: Streamable HTTP):

  Claude Code   claude mcp add --transport http demo ${mount}
  Cursor        in .cursor/mcp.json: {"mcpServers":{"demo":{"url":"${mount}"}}}
  Any other     the URL ${mount}

Ctrl-C stops it. What the adapter logs:
`;
}

function readPort(argv: readonly string[]): number | 'help' {
  const { values } = parseArgs({
    args: [...argv],
    options: { port: { type: 'string', default: String(DEFAULT_PORT) }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help) return 'help';
  if (!/^\d+$/.test(values.port) || Number(values.port) > 65_535) {
    throw new Error(`--port must be a number from 0 to 65535, not "${values.port}"`);
  }
  return Number(values.port);
}

let port: number | 'help';
try {
  port = readPort(process.argv.slice(2));
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\nTry 'npm start -- --help'.`);
  process.exit(2);
}
if (port === 'help') {
  console.log(USAGE.trimEnd());
} else {
  try {
    process.exitCode = await start(port);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}
