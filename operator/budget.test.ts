import { describe, expect, test } from 'vitest';
import type { McpAdapter } from '../crds/v1alpha1/mcp-adapter.ts';
import { build } from './mcp-adapter/build/build.ts';
import { check } from './mcp-adapter/check/check.ts';
import { effectiveConfig } from './mcp-adapter/config/effective-config.ts';
import { warningsOf } from './mcp-adapter/check/warnings.ts';
import { sampleAdapter } from './mcp-adapter/testing/sample.ts';
import { preparing } from './scrape-group/group/prepare.ts';
import { first } from './scrape-group/testing/sources.ts';
import { Budget, BudgetError, RESOURCE_MS, ownFilesBudget, withinBudget } from './tasks/budget.ts';
import { DEFAULT_PERMISSIONS } from './validation/permissions.ts';

const cpuMs = (work: () => unknown): number => {
  const start = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(start);
  return (user + system) / 1000;
};
const CONTEXT = {
  image: 'adapter:1',
  podSecurity: 'restricted' as const,
  serves: { httpRoutes: true, serviceMonitors: true },
  services: () => undefined,
  referencesRevision: undefined,
  apiServer: undefined,
};
const server = { id: 'a', mount_path: '/a', upstream: { url: 'http://a/mcp' } };

/** Reasons of refusal. */
function problems(values: Record<string, unknown>, budget = ownFilesBudget()): string[] {
  const checked = check(sampleAdapter(values), { httpRoutes: true }, DEFAULT_PERMISSIONS, budget);
  return checked.ok ? [] : checked.problems.map(({ path, message }) => `${path} ${message}`);
}
const sourceProblems = (changes: Parameters<typeof first>[1]): string[] =>
  preparing(DEFAULT_PERMISSIONS)(first('one', changes)).problems.map(({ path, message }) => `${path} ${message}`);

describe('a budget', () => {
  /** A clock of which each look takes 10 ms. */
  const slow = (limit: number): Budget => {
    let now = 0;
    return new Budget(limit, () => (now += 10));
  };

  test('ends work before its next step', () => {
    const done: number[] = [];
    const budget = slow(35);
    expect(() =>
      budget.during(() => {
        for (let step = 1; ; step += 1) {
          budget.step(`spec.field${step}`);
          done.push(step);
        }
      }),
    ).toThrow(new BudgetError(35, 'spec.field4'));
    expect(done).toEqual([1, 2, 3]);
  });

  test('adds up what is done between waits, and what was charged', () => {
    const charged = new Budget(30, () => 0);
    charged.during(() => charged.charge(20));
    charged.during(() => charged.step('spec'));
    charged.during(() => charged.charge(11));
    expect(() => charged.during(() => charged.step('spec'))).toThrow(BudgetError);
    const spent = slow(25);
    spent.during(() => spent.step('spec'));
    expect(() => spent.during(() => spent.step('spec'))).toThrow(BudgetError);
  });

  test('is given twice, because a cold program is slow', () => {
    const limits = [5, 100];
    const once = (): Budget => slow(limits.shift() ?? 0);
    const work = (budget: Budget): string => {
      budget.step('spec');
      return 'done';
    };
    expect(withinBudget('spec', work, () => 'refused', once)).toBe('done');
    expect(
      withinBudget(
        'spec',
        work,
        ({ path }) => `refused at ${path}`,
        () => slow(5),
      ),
    ).toBe('refused at spec');
  });

  test('H1 T23: work that fails for whatever reason is refused, since it would fail again', () => {
    const work = (): never => {
      'x'.repeat(2 ** 29).repeat(8);
      throw new Error('texts have no end here');
    };
    const refused = withinBudget('spec', work, ({ path, message }) => `${path} ${message}`, ownFilesBudget);
    expect(refused).toBe('spec cannot be worked on: Invalid string length');
  });
});

describe('T12 T23: a resource that was made to take long', () => {
  const pattern = (index: number): string => `(?i)${'\\pL'.repeat(80)}${index}`;
  const patterns = (count: number, from = 0): string[] =>
    Array.from({ length: count }, (_, index) => pattern(from + index));

  test('with costly patterns is refused, and stops before the pattern that would be too many', () => {
    const withTools = (tools: readonly string[]) => ({ 'spec.config.servers': [{ ...server, disabled_tools: tools }] });
    // A cold program may take all of its time before the first pattern.
    problems(withTools(patterns(1, 2000)));
    const values = withTools(patterns(200));
    const budget = new Budget(RESOURCE_MS);
    let refusal: unknown;
    const took = cpuMs(() => {
      try {
        budget.during(() => problems(values, budget));
      } catch (error) {
        refusal = error;
      }
    });
    expect(refusal).toBeInstanceOf(BudgetError);
    const { path, message } = (refusal as BudgetError).problem;
    expect(path).toMatch(/^spec\.config\.servers\[0\]\.disabled_tools\[\d+\]$/);
    expect(message).toContain('more than 50 ms');
    // One pattern of this kind takes 5 to 15 ms; all of them more than a second.
    expect(took).toBeLessThan(300);
  });

  test('does not get further each time because its patterns are known by then', () => {
    const values = { 'spec.config.servers': [{ ...server, disabled_tools: patterns(50, 1000) }] };
    expect(problems(values)).toEqual([]);
    const budget = new Budget(RESOURCE_MS);
    expect(() => budget.during(() => problems(values, budget))).toThrow(BudgetError);
  });

  test.each<[string, Record<string, unknown>, string]>([
    [
      'too many patterns',
      { 'spec.config.servers': [{ ...server, disabled_tools: Array.from({ length: 201 }, () => 'x') }] },
      'spec.config.servers[0].disabled_tools has 201 entries; at most 200 are allowed in a resource',
    ],
    [
      'a long pattern',
      { 'spec.config.servers': [{ ...server, disabled_tools: ['x', 'y'.repeat(257)] }] },
      'spec.config.servers[0].disabled_tools[1] has 257 characters; at most 256 are allowed in a resource',
    ],
    [
      'a long pattern in a variable',
      {
        'spec.config.servers': [{ ...server, disabled_tools: ['${P}'] }],
        'spec.env': [{ name: 'P', value: '\\pL'.repeat(20_000) }],
      },
      'spec.config.servers[0].disabled_tools[0] is no valid regular expression (RE2): it has 60000 characters',
    ],
    [
      'a text that references make long',
      {
        'spec.config.core': { public_base_url: '${A}'.repeat(4000) },
        'spec.env': [{ name: 'A', value: 'x'.repeat(60_000) }],
      },
      'spec.config.core.public_base_url becomes 240000000 characters long',
    ],
    [
      'a text that references make too long by one',
      {
        'spec.config.core': { public_base_url: '${A}x' },
        'spec.env': [{ name: 'A', value: 'x'.repeat(65_536) }],
      },
      'spec.config.core.public_base_url becomes 65537 characters long',
    ],
    [
      'many texts that references make long',
      {
        'spec.config.servers': Array.from({ length: 20 }, (_, index) => ({ ...server, id: `${index}\${A}` })),
        'spec.env': [{ name: 'A', value: 'x'.repeat(60_000) }],
      },
      'spec.config becomes 1200030 characters long',
    ],
    [
      'too many values',
      { 'spec.config.servers': Array.from({ length: 6000 }, () => ({ id: 'a', mount_path: '/a', upstream: {} })) },
      'spec has more than 10000 values',
    ],
  ])('%s', (_, values, expected) => {
    let found: string[] = [];
    const took = cpuMs(() => (found = problems(values)));
    expect(found).toEqual([expect.stringContaining(expected)]);
    expect(took).toBeLessThan(200);
  });

  test.each<[string, Parameters<typeof sourceProblems>[0], string]>([
    [
      'a text that references make long',
      { source: { endpoint: '${A}'.repeat(4000) }, env: [{ name: 'A', value: 'x'.repeat(60_000) }] },
      'source.endpoint becomes 240000000 characters long',
    ],
    [
      'a setting that references make long',
      { scraper: { otelHeaders: { a: '${A}'.repeat(4000) } }, env: [{ name: 'A', value: 'x'.repeat(60_000) }] },
      'scraper.otelHeaders.a becomes 240000000 characters long',
    ],
    [
      'references that the pods know by long names',
      { source: { dataKey: '${A:-}'.repeat(60_000) } },
      'source must be at most 512 KiB as JSON',
    ],
    ['a long path', { source: { dataKey: 'a.'.repeat(300) } }, 'source.dataKey has 600 characters; at most 512'],
    [
      'a long pattern',
      { source: { filters: { drop: [{ any: [{ field: 'a', matchType: 'regex', value: 'x'.repeat(2000) }] }] } } },
      'source.filters.drop[0].any[0].value has 2000 characters; at most 1024',
    ],
    [
      'another long pattern',
      { source: { filters: { keep: [{ all: [{ field: 'a', matchType: 'regex', value: 'x'.repeat(1025) }] }] } } },
      'source.filters.keep[0].all[0].value has 1025 characters; at most 1024',
    ],
    [
      'too many values',
      { source: { scrape: { type: 'instant', extraArgs: { a: Array.from({ length: 30_000 }, () => 1) } } } },
      'source has more than 10000 values',
    ],
  ])('a source with %s', (_, changes, expected) => {
    let found: string[] = [];
    const took = cpuMs(() => (found = sourceProblems(changes)));
    expect(found).toEqual([expect.stringContaining(expected)]);
    expect(took).toBeLessThan(300);
  });

  test('a source whose check takes too long has that as its only problem', () => {
    const prepare = preparing(DEFAULT_PERMISSIONS, () => new Budget(-1));
    expect(prepare(first('one')).problems).toEqual([
      expect.objectContaining({ reason: 'InvalidSpec', message: expect.stringContaining('computing time') }),
    ]);
  });
});

describe('H1 T23: what takes the square of its length', () => {
  const LONG = 100_000;
  const slashes = `${'/'.repeat(LONG)}x`;
  const headers = (value: string): Record<string, unknown> => ({
    'spec.config.servers': [{ ...server, upstream: { url: 'http://a/mcp', static_headers: { 'X-A': value } } }],
  });
  const mounting = (mountPath: string): Record<string, unknown> => ({
    'spec.podOverlay': {
      spec: {
        containers: [{ name: 'adapter', volumeMounts: [{ name: 'more', mountPath }] }],
        volumes: [{ name: 'more', emptyDir: {} }],
      },
    },
  });
  const unknown = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`portx${index}`, 1]));

  // Each took 5 to 30 s.
  test.each<[string, Record<string, unknown>]>([
    ['a storage root of slashes', { 'spec.config.storage': { root: slashes } }],
    ['a mount path of slashes', mounting(slashes)],
    ['a header of letters', headers('a'.repeat(LONG))],
    ['a header of digits', headers('1'.repeat(LONG))],
    ['a header of references', headers('${A:-x}'.repeat(LONG / 7))],
    ['a mount path from a variable', { 'spec.env': [{ name: 'A', value: slashes.slice(0, 60_000) }], ...at('${A}x') }],
  ])('%s', (_, values) => {
    const resource = sampleAdapter(values);
    expect(
      cpuMs(() => {
        const checked = check(resource, { httpRoutes: true }, DEFAULT_PERMISSIONS, ownFilesBudget());
        if (checked.ok) warningsOf(checked.adapter.spec, effectiveConfig(checked.adapter.spec));
      }),
    ).toBeLessThan(1000);
  });

  test('thousands of unknown keys: the first thousand are told', () => {
    let found: string[] = [];
    expect(cpuMs(() => (found = problems({ 'spec.config.core': unknown })))).toBeLessThan(1000);
    expect(found).toHaveLength(1000);
  });

  function at(path: string): Record<string, unknown> {
    return { 'spec.config.servers': [{ ...server, mount_path: path }] };
  }
});

describe('H1 T23: a resource whose parts multiply or nest', () => {
  const nested = (levels: number): unknown => {
    let value: unknown = 1;
    for (let level = 0; level < levels; level += 1) value = [value];
    return value;
  };

  test.each([101, 9000])('%i levels deep is refused at its path, and no stack is used up', (levels) => {
    const expected = [expect.stringMatching(/nested deeper than 100 levels/)];
    expect(problems({ 'spec.config.servers': nested(levels) })).toEqual(expected);
    expect(problems({ 'spec.podOverlay': { spec: { affinity: nested(levels) } } })).toEqual(expected);
    const scrape = { type: 'instant', extraArgs: { a: nested(levels) } } as const;
    expect(sourceProblems({ source: { scrape } })).toEqual(expected);
    expect(sourceProblems({ scraper: { otelResourceAttributes: nested(levels) } as never })).toEqual(expected);
  });

  test('folders of hundreds of servers in hundreds of containers', () => {
    const servers = Array.from({ length: 900 }, (_, index) => ({
      id: `a${index}`,
      mount_path: `/a${index}`,
      upstream: { url: 'http://localhost/' },
    }));
    const containers = Array.from({ length: 200 }, (_, index) => ({
      name: `c${index}`,
      ports: [{ containerPort: 80 }],
      volumeMounts: [{ name: 'storage', mountPath: '/data' }],
    }));
    const adapter = sampleAdapter({
      'spec.config.servers': servers,
      'spec.config.storage': { layout: 'per_server' },
      'spec.storage': { claim: { size: '1Gi' } },
      'spec.podOverlay': { spec: { containers } },
    });
    expect(() => build(adapter as unknown as McpAdapter, CONTEXT)).toThrow(
      'spec.podOverlay gives the containers more than 5000 mounts',
    );
  });
});
