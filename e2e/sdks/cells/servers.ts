import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { startFixture } from '../../support/fixture-process.ts';
import { startOneFamily } from '../../support/one-family.ts';
import { type RunningProcess, startProcess } from '../../support/processes.ts';
import { pythonSdk } from '../python-sdk.ts';
import { goServer } from './go.ts';

/** Whose servers there are, as the page names them. */
export const SDKS = ['TypeScript', 'Go', 'Python'] as const;
export type Family = 'older' | 'newer';

export interface CellServer {
  readonly sdk: (typeof SDKS)[number];
  /** The only one that it speaks. */
  readonly family: Family;
  readonly url: string;
}

/** Starts a server of each SDK and family, with the same tools, resources and prompts. `opened` stops them. */
export async function startCellServers(opened: AsyncDisposableStack): Promise<readonly CellServer[]> {
  const typescript = await startFixture();
  opened.use(typescript);
  const one = async (sdk: CellServer['sdk'], family: Family, url: string): Promise<CellServer> => {
    const only = opened.use(await startOneFamily(url, family));
    return { sdk, family, url: only.url };
  };
  const python = await startPython(opened);
  return [
    { sdk: 'TypeScript', family: 'newer', url: typescript.modernUrl },
    { sdk: 'TypeScript', family: 'older', url: typescript.askingUrl },
    await one('Go', 'newer', await startGo(opened, [])),
    await one('Go', 'older', await startGo(opened, ['-stateless=false'])),
    await one('Python', 'newer', python),
    await one('Python', 'older', python),
  ];
}

async function startGo(opened: AsyncDisposableStack, args: readonly string[]): Promise<string> {
  return `http://127.0.0.1:${await portOf(opened.use(startProcess(await goServer(), args)))}/`;
}

async function startPython(opened: AsyncDisposableStack): Promise<string> {
  const script = fileURLToPath(new URL('server.py', import.meta.url));
  const python = join(await pythonSdk(), 'venv/bin/python');
  const running = opened.use(startProcess(python, ['-W', 'ignore', script], { PYTHONDONTWRITEBYTECODE: '1' }));
  return `http://127.0.0.1:${await portOf(running)}/mcp`;
}

const portOf = async (running: RunningProcess): Promise<string> =>
  (await running.waitForStdout(/"port": ?(\d+)/))[1] ?? '';
