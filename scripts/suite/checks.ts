import { join } from 'node:path';
import { ROOT, runCommand } from './command.ts';
import type { TestResult } from './result.ts';

const tool = (name: string): string => join(ROOT, 'node_modules/.bin', name);

/** What a change must satisfy besides the tests. */
const STEPS: readonly { readonly name: string; readonly command: readonly string[]; readonly repair?: string }[] = [
  { name: 'format', command: [tool('oxfmt'), '--check'], repair: 'npm run format' },
  { name: 'lint', command: [tool('oxlint'), '--deny-warnings'] },
  { name: 'types', command: [tool('tsc')] },
  { name: 'unused code', command: [tool('knip')] },
  {
    name: 'generated files',
    command: [process.execPath, 'scripts/generate/main.ts', '--check'],
    repair: 'npm run generate',
  },
];

const STEP_TIMEOUT_MS = 180_000;

/** Runs the steps side by side; each tells its result at once. */
export async function runChecks(signal: AbortSignal, onResult: (result: TestResult) => void): Promise<TestResult[]> {
  return await Promise.all(
    STEPS.map(async ({ name, command, repair }) => {
      const { ok, output } = await runCommand(command, { timeoutMs: STEP_TIMEOUT_MS, signal });
      const detail = ok ? '' : `${output.trim() || 'failed without a word'}${repair ? `\nRepair: ${repair}` : ''}`;
      const result: TestResult = { suite: 'check', name, state: ok ? 'passed' : 'failed', detail };
      onResult(result);
      return result;
    }),
  );
}
