import { fileURLToPath } from 'node:url';
import { type RunningProcess, startProcess } from './processes.ts';
import { programPath } from './programs/program-path.ts';

const MAIN = programPath(fileURLToPath(new URL('fixture/main.ts', import.meta.url)));

export interface RunningFixture extends RunningProcess {
  readonly port: number;
  /** Streamable HTTP, both eras. */
  readonly mcpUrl: string;
  /** Streamable HTTP, only the revision without sessions. */
  readonly modernUrl: string;
  /** Streamable HTTP, only the revisions with sessions. */
  readonly legacyUrl: string;
  /** The same with the tools that the suite of 2026-07-28 wants. */
  readonly askingUrl: string;
  /** HTTP+SSE of 2024-11-05. */
  readonly sseUrl: string;
}

/** Starts the conformance upstream in a process of its own. `port` serves to start it again where it was. */
export async function startFixture(port = 0): Promise<RunningFixture> {
  const running = startProcess(process.execPath, [MAIN, '--port', String(port)]);
  const match = await running.waitForStdout(/\{"port":(\d+)\}/);
  const base = `http://127.0.0.1:${match[1]}`;
  return Object.assign(running, {
    port: Number(match[1]),
    mcpUrl: `${base}/mcp`,
    modernUrl: `${base}/mcp-modern`,
    legacyUrl: `${base}/mcp-legacy`,
    askingUrl: `${base}/mcp-asking`,
    sseUrl: `${base}/sse`,
  });
}
