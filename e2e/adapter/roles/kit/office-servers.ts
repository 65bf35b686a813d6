import { join } from 'node:path';
import { cached, runs } from '../../../sdks/cached.ts';
import { freePort } from '../../../support/ports.ts';
import { startProcess } from '../../../support/processes.ts';
import { listening, type PublishedServer } from './listening.ts';

/** Published servers, as of the day that their tools were read. */
export const PYTHON_SERVERS = ['excel-mcp-server==2.2.2', 'office-word-mcp-server==1.1.11', 'markitdown-mcp==0.0.1a8'];

/** An environment of Python with servers for workbooks and documents, and what reads their files. */
const installed = (): Promise<string> =>
  cached('office-servers-1', async (folder) => {
    await runs('python3', ['-m', 'venv', join(folder, 'venv')]);
    await runs(join(folder, 'venv/bin/python'), [
      '-m',
      'pip',
      '-q',
      '--disable-pip-version-check',
      'install',
      ...PYTHON_SERVERS,
    ]);
  });

/** `excel-mcp-server`, which touches nothing outside of `root`. */
export const startExcel = (root: string): Promise<PublishedServer> =>
  launched(
    (port) => ['excel-mcp-server', ['streamable-http', '--host', '127.0.0.1', '--port', port]],
    () => ({
      EXCEL_FILES_PATH: root,
    }),
  );

/** `office-word-mcp-server` */
export const startWord = (): Promise<PublishedServer> =>
  launched(
    () => ['word_mcp_server', []],
    (port) => ({
      MCP_TRANSPORT: 'streamable-http',
      MCP_HOST: '127.0.0.1',
      MCP_PORT: port,
      MCP_PATH: '/mcp',
    }),
  );

/** `markitdown-mcp` */
export const startMarkItDown = (): Promise<PublishedServer> =>
  launched(
    (port) => ['markitdown-mcp', ['--http', '--host', '127.0.0.1', '--port', port]],
    () => ({}),
  );

async function launched(
  commandOf: (port: string) => [program: string, args: string[]],
  envOf: (port: string) => NodeJS.ProcessEnv,
): Promise<PublishedServer> {
  const folder = await installed();
  const port = String(await freePort());
  const [program, args] = commandOf(port);
  const running = startProcess(join(folder, 'venv/bin', program), args, {
    ...envOf(port),
    PYTHONDONTWRITEBYTECODE: '1',
  });
  return listening(running, program, `http://127.0.0.1:${port}/mcp`);
}

/** What a program in Python says of files, with the libraries of these servers. */
export async function python(program: string, ...args: string[]): Promise<string> {
  return (await runs(join(await installed(), 'venv/bin/python'), ['-c', program, ...args])).trim();
}
