import { join, relative } from 'node:path';

export const ROOT = join(import.meta.dirname, '../../..');

/** Environment variable with the folder that has the programs in one piece. */
export const PROGRAMS = 'TEST_PROGRAMS';

/**
 * Programs that most tests start, and the threads that these start, with their names in the folder. A thread's file is
 * looked for beside the program.
 */
export const BUNDLED: Readonly<Record<string, string>> = {
  adapter: 'adapter/main.ts',
  'sandbox-worker': 'adapter/code-mode/sandbox/sandbox-worker.ts',
  scraper: 'scraper/main.ts',
  fixture: 'e2e/support/fixture/main.ts',
  'file-tools': 'e2e/support/file-tools/main.ts',
};

/** What Node is to run for a program's source: its bundle where `bundle.ts` made one, else the source itself. */
export function programPath(source: string): string {
  const folder = process.env[PROGRAMS];
  const [name] = Object.entries(BUNDLED).find(([, path]) => path === relative(ROOT, source)) ?? [];
  return folder === undefined || name === undefined ? source : join(folder, `${name}.js`);
}
