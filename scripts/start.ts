/** `npm start`: the resources of examples/quickstart without a cluster, as `mcp-operator local` runs them. */
import { join } from 'node:path';
import { UsageError, readArgs } from '../operator/command-line.ts';
import { readPort } from '../operator/local/local-command.ts';
import { runLocal } from '../operator/local/local.ts';
import { readableLine } from '../operator/local/log-line.ts';

const USAGE = `Usage: npm start [-- options]

Runs the McpAdapter of examples/quickstart and its demo MCP server without a cluster, until Ctrl-C. Changes of its file
are applied at once.

Options:
  --port NUMBER  TCP port of the adapter (default 8932; 0 takes a free one)
  --help         this text

Environment:
  DATA_DIR       where the adapter keeps its state (default .data)
`;

const root = join(import.meta.dirname, '..');

async function start(port: number | undefined): Promise<void> {
  const interruption = new AbortController();
  // npm repeats the signals that it gets, so each may come twice.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interruption.abort());
  let welcomed = false;
  await runLocal(
    {
      paths: [join(root, 'examples/quickstart')],
      namespace: 'default',
      dataDir: process.env['DATA_DIR'] || join(root, '.data'),
      port,
      env: process.env,
      print: (text) => console.log(readableLine(text)),
      onStatus: ([row]) => {
        if (welcomed || row?.ready !== 'True') return;
        welcomed = true;
        console.log(welcome(row.url));
      },
    },
    interruption.signal,
  );
}

function welcome(mount: string): string {
  return `The adapter runs in front of a demo MCP server.

  MCP endpoint  ${mount}
  Health        ${new URL('/healthz', mount).href}

Call a tool through it, from another terminal in this folder:

  npm run -s client -- ${mount} word_count '{"text":"hello world"}'

Or let an MCP client use it (transport: Streamable HTTP):

  Claude Code   claude mcp add --transport http demo ${mount}
  Cursor        in .cursor/mcp.json: {"mcpServers":{"demo":{"url":"${mount}"}}}
  Any other     the URL ${mount}

Edit examples/quickstart/mcp-adapter.yaml and see the change applied. Ctrl-C stops it. What the adapter logs:
`;
}

try {
  const { values } = readArgs({
    args: process.argv.slice(2),
    options: { port: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help) console.log(USAGE.trimEnd());
  else await start(readPort(values.port));
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  if (error instanceof UsageError) console.error("Try 'npm start -- --help'.");
  else if (/is in use/.test(String(error))) console.error('Let the adapter take a free one:  npm start -- --port 0');
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
