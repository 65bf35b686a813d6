import { afterEach, describe, expect, test } from 'vitest';
import type { ApiScrapeSource } from '../crds/v1alpha1/api-scrape-source.ts';
import type { McpAdapter } from '../crds/v1alpha1/mcp-adapter.ts';
import { BUILD, CHECK, type CheckInput } from './mcp-adapter/tasks.ts';
import { sampleAdapter } from './mcp-adapter/testing/sample.ts';
import { Budget, BudgetError, RESOURCE_MS, ownFilesBudget } from './tasks/budget.ts';
import { DEFAULT_PERMISSIONS } from './validation/permissions.ts';
import type { Subject } from './tasks/task.ts';
import { PREPARE, rememberingPrepare } from './scrape-group/group/prepare.ts';
import { first, source } from './scrape-group/testing/sources.ts';
import { type TaskLimits, WorkerTaskRunner } from './tasks/worker-task-runner.ts';

const made: WorkerTaskRunner[] = [];
const taskRunner = (limits?: Partial<TaskLimits>): WorkerTaskRunner => {
  const one = new WorkerTaskRunner(limits);
  made.push(one);
  return one;
};
afterEach(async () => {
  await Promise.all(made.splice(0).map((one) => one[Symbol.asyncDispose]()));
});

const { signal } = new AbortController();
const subject = (id: string, budget = new Budget(RESOURCE_MS)): Subject => ({ id, path: 'spec', budget, signal });
const input = (values: Record<string, unknown> = {}): CheckInput => ({
  resource: sampleAdapter(values),
  served: { httpRoutes: true },
  permissions: DEFAULT_PERMISSIONS,
});
const servers = (count: number): Record<string, unknown> => ({
  'spec.config.servers': Array.from({ length: count }, (_, index) => ({
    id: `\${A:-a${index}}`,
    mount_path: `/\${A:-a${index}}`,
    upstream: { url: `http://\${A:-h${index}}/` },
  })),
});
/** More than two seconds' worth also on a fast machine. */
const costly = {
  'spec.config.servers': Array.from({ length: 5 }, (_server, server) => ({
    id: `a${server}`,
    mount_path: `/a${server}`,
    upstream: { url: 'http://a/mcp' },
    disabled_tools: Array.from({ length: 200 }, (_, index) => `(?i)${'\\pL'.repeat(80)}${server}${index}`),
  })),
};
/** As an output of the thread. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const refusedOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: Error) => `${error.name}: ${error.message}`,
  );

describe('H1 T23: a resource that is large, or takes long', () => {
  test('is worked on by a thread, with the same output as the event loop, which goes on meanwhile', async () => {
    const large = input(servers(1500));
    const before = process.threadCpuUsage();
    const output = await taskRunner().run(CHECK, large, subject('large'));
    const { user, system } = process.threadCpuUsage(before);
    // Here it takes more than 400 ms.
    expect((user + system) / 1000).toBeLessThan(200);
    expect(output).toEqual(plain(CHECK.run(large, ownFilesBudget())));
    expect(output.ok).toBe(true);
  });

  test('is built, and prepared, in the same way', async () => {
    const one = taskRunner({ smallInput: 0 });
    const adapter = sampleAdapter(servers(3)) as unknown as McpAdapter;
    const context = {
      image: 'adapter:1',
      podSecurity: 'restricted' as const,
      serves: { httpRoutes: true, serviceMonitors: true },
      referencesRevision: undefined,
      apiServer: undefined,
    };
    const build = { adapter, context, services: [] };
    const built = await one.run(BUILD, build, subject('one'));
    expect(built).toEqual(plain(BUILD.run(build, ownFilesBudget())));
    const prepare = { source: first('two'), permissions: DEFAULT_PERMISSIONS };
    const prepared = await one.run(PREPARE, prepare, subject('two'));
    expect(prepared).toEqual(plain(PREPARE.run(prepare, ownFilesBudget())));
    expect(prepared.member?.resource).toBe('two');
  });

  test('has the time of the thread when the budget of the event loop is used up', async () => {
    const spent = new Budget(-1);
    expect(await taskRunner().run(CHECK, input(), subject('small', spent))).toMatchObject({ ok: true });
  });

  test('is refused when the thread takes too long, and at once when it is request again; others are not', async () => {
    // A busy machine may take long for two seconds of computing.
    const one = taskRunner({ taskMs: 120_000 });
    const refused = await refusedOf(one.run(CHECK, input(costly), subject('costly')));
    expect(refused).toMatch(
      /^RefusedError: spec\.config\.servers\[\d\]\.disabled_tools\[\d+\] takes the operator more than/,
    );
    const before = process.threadCpuUsage();
    expect(await refusedOf(one.run(CHECK, input(costly), subject('costly')))).toBe(refused);
    expect(process.threadCpuUsage(before).user / 1000).toBeLessThan(100);
    expect(await one.run(CHECK, input(servers(100)), subject('other'))).toMatchObject({ ok: true });
  });

  test('loses its thread in the middle of a step', async () => {
    const one = taskRunner({ smallInput: 0, taskMs: 1 });
    const refused = await refusedOf(one.run(CHECK, input(costly), subject('costly')));
    expect(refused).toBe(`RefusedError: spec ${new BudgetError(1, 'spec').problem.message}`);
  });

  test('leaves the thread when its reconcile is aborted', async () => {
    const stopping = new AbortController();
    const request = taskRunner().run(CHECK, input(servers(1500)), { ...subject('large'), signal: stopping.signal });
    stopping.abort(new Error('the operator stops'));
    expect(await refusedOf(request)).toBe('Error: the operator stops');
  });

  test('and one that no text can hold is refused at its path', async () => {
    let nested: unknown = 1;
    for (let level = 0; level < 100_000; level += 1) nested = [nested];
    const request = taskRunner().run(CHECK, input({ 'spec.config.core': nested }), subject('nested'));
    expect(await refusedOf(request)).toMatch(/^RefusedError: spec cannot be worked on: Maximum call stack/);
  });
});

test('H1 T23: a source that fails does not keep the others of its group from being prepared', async () => {
  let nested: unknown = 1;
  for (let level = 0; level < 100_000; level += 1) nested = [nested];
  const scrape = { type: 'instant', extraArgs: { a: nested } } as const;
  const sources: ApiScrapeSource[] = [first('one'), source('two', { source: { scrape } }), source('three')];
  const prepare = await rememberingPrepare(DEFAULT_PERMISSIONS, taskRunner())(sources, signal);
  expect(sources.map((one) => prepare(one).problems.map(({ path, message }) => `${path} ${message}`))).toEqual([
    [],
    [expect.stringMatching(/^source cannot be worked on: Maximum call stack/)],
    [],
  ]);
});
