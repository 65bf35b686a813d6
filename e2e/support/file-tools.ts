import { fileURLToPath } from 'node:url';
import { type RunningProcess, startProcess } from './processes.ts';
import { programPath } from './programs/program-path.ts';

export { contentOf, sha256Of } from './file-tools/content.ts';

const MAIN = programPath(fileURLToPath(new URL('file-tools/main.ts', import.meta.url)));
const ARRIVAL_MS = 20_000;

/** An MCP server whose tools read and write files of this machine, in a process of its own. */
export interface FileTools extends RunningProcess {
  /** Streamable HTTP, the revisions with sessions. */
  readonly url: string;
  /** Resolves when a tool has come to this gate. Rejects after 20 s. */
  arrived(gate: string): Promise<void>;
  /** Lets all tools pass this gate, from now on. */
  open(gate: string): Promise<void>;
}

export async function startFileTools(at = 0): Promise<FileTools> {
  const running = startProcess(process.execPath, [MAIN, '--port', String(at)]);
  const [, port] = await running.waitForStdout(/\{"port":(\d+)\}/);
  const origin = `http://127.0.0.1:${port}`;
  const ask = async (method: string, gate: string): Promise<void> => {
    const signal = AbortSignal.timeout(ARRIVAL_MS);
    const response = await fetch(`${origin}/gates/${gate}`, { method, signal });
    if (!response.ok) throw new Error(`${method} of gate ${gate}: HTTP ${response.status}`);
  };
  return Object.assign(running, {
    url: `${origin}/mcp`,
    arrived: (gate: string) => ask('GET', gate),
    open: (gate: string) => ask('POST', gate),
  });
}
