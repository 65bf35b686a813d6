import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { ROOT } from './command.ts';
import type { Suite, TestResult } from './result.ts';
import type { EndedFile, VitestMessage } from './vitest-message.ts';

const CHILD = fileURLToPath(new URL('vitest-child.ts', import.meta.url));
const KEPT_OUTPUT = 10_000;
const GRACE_MS = 5000;

export interface VitestRun {
  readonly suites: readonly Suite[];
  /** Only these; all files of the suites when it is left out. */
  readonly files?: readonly string[];
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onStart: (suite: string, file: string) => void;
  readonly onEnd: (file: EndedFile) => void;
}

/**
 * Runs vitest projects in a process of their own; `onEnd` has the results. Never rejects: a process that breaks is a
 * failed test, which is returned, as are errors outside of tests.
 */
export async function runVitest(run: VitestRun): Promise<TestResult[]> {
  const { suites, files = [], timeoutMs, signal, onStart, onEnd } = run;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  // A process group of its own: ending it ends whatever the tests have started, too.
  const child = fork(CHILD, [suites.join(','), ...files], { cwd: ROOT, silent: true, detached: true });
  const stop = (): void => {
    endGroup(child.pid, 'SIGTERM');
    setTimeout(() => endGroup(child.pid, 'SIGKILL'), GRACE_MS).unref();
  };
  limit.addEventListener('abort', stop, { once: true });
  const outside: TestResult[] = [];
  let hasFailures = false;
  const running = new Set<string>();
  let finished = false;
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-KEPT_OUTPUT)));
  }
  child.on('message', (message: VitestMessage) => {
    if (message.kind === 'started') {
      running.add(message.file);
      onStart(message.suite, message.file);
      return;
    }
    if (message.kind === 'finished') {
      finished = true;
      outside.push(...message.results);
      return;
    }
    running.delete(message.file);
    hasFailures ||= message.results.some(({ state }) => state === 'failed');
    onEnd(message);
  });
  const how = await new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`with ${error.message}`));
    child.once('close', (code, ended) => resolve(ended === null ? `with exit code ${code}` : `by ${ended}`));
  });
  limit.removeEventListener('abort', stop);

  // vitest ends with 1 for failures that it has reported; anything else it has not told.
  const told = finished && (how === 'with exit code 0' || hasFailures || outside.length > 0);
  if (told) return outside;
  const stopped = signal.aborted ? 'It was interrupted.' : `It was stopped after ${timeoutMs / 60_000} minutes.`;
  const reason = limit.aborted ? stopped : `It ended ${how}.`;
  const open = running.size === 0 ? '' : `\nRunning at that time: ${[...running].join(', ')}`;
  const detail = `${reason}${open}\n${stripVTControlCharacters(output).trim()}`;
  return [...outside, { suite: 'vitest', name: `run of ${suites.join(', ')}`, state: 'failed', detail }];
}

function endGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, signal);
  } catch {
    // All of them have ended.
  }
}
