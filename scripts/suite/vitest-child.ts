/**
 * Runs the vitest projects of its first argument, all of their files or those of the other arguments, and reports over
 * IPC: a process of its own, so that nothing that happens here hides the report of `npm test`. Leads a process group,
 * which ends when `npm test` does.
 */
import { relative } from 'node:path';
import { type Reporter, startVitest, type TestCase, type TestModule } from 'vitest/node';
import { ROOT } from './command.ts';
import { describeError } from './describe-error.ts';
import type { TestResult } from './result.ts';
import type { VitestMessage } from './vitest-message.ts';

const send = (message: VitestMessage): void => void process.send?.(message);

const fileOf = (module: TestModule): string => relative(ROOT, module.moduleId);

/** Result and reason of one test. */
function caseResult(test: TestCase): TestResult {
  const result = test.result();
  const names = [fileOf(test.module), ...test.fullName.split(' > ')].join(' › ');
  const base = { suite: test.project.name, name: names };
  if (result.state === 'passed') return { ...base, state: 'passed', detail: '' };
  if (result.state === 'failed') {
    return { ...base, state: 'failed', detail: result.errors.map(describeError).join('\n\n') };
  }
  if (result.state === 'skipped') return { ...base, state: 'skipped', detail: result.note ?? reasonOf(test) };
  return { ...base, state: 'failed', detail: 'It did not end.' };
}

function reasonOf(test: TestCase): string {
  const { mode } = test.options;
  return mode === 'skip' || mode === 'todo'
    ? `It is marked as ${mode}, without a reason.`
    : 'It was not run: its suite failed before it, or another test is marked as only.';
}

/** Failures outside of tests: a file that cannot be loaded, a hook around all of its tests. */
function outsideFailures(module: TestModule): TestResult[] {
  const suite = module.project.name;
  const parts = [
    { name: fileOf(module), errors: module.errors() },
    ...[...module.children.allSuites()].map((part) => ({
      name: `${fileOf(module)} › ${part.fullName}`,
      errors: part.errors(),
    })),
  ];
  return parts
    .filter(({ errors }) => errors.length > 0)
    .map(({ name, errors }) => ({ suite, name, state: 'failed', detail: errors.map(describeError).join('\n\n') }));
}

const reporter: Reporter = {
  onTestModuleStart: (module) => send({ kind: 'started', suite: module.project.name, file: fileOf(module) }),
  onTestModuleEnd: (module) => {
    const results = [...outsideFailures(module), ...[...module.children.allTests()].map(caseResult)];
    const { cpuSeconds } = module.meta();
    send({ kind: 'ended', suite: module.project.name, file: fileOf(module), results, cpuSeconds });
  },
  onTestRunEnd: (_modules, unhandled) => {
    const results = unhandled.map((error): TestResult => ({
      suite: 'vitest',
      name: 'an error outside of any test',
      state: 'failed',
      detail: describeError(error),
    }));
    send({ kind: 'finished', results });
  },
};

const endWithParent = (): void => void process.kill(-process.pid, 'SIGKILL');
process.once('disconnect', endWithParent);

const [projects = '', ...files] = process.argv.slice(2);
const vitest = await startVitest(files, { project: projects.split(','), watch: false, reporters: [reporter] });
await vitest.close();
process.off('disconnect', endWithParent);
process.disconnect();
