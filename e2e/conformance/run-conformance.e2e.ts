import { describe, expect, test } from 'vitest';
import { startRawUpstream } from '../support/raw-upstream.ts';
import { type Check, type ConformanceScore, failures, regressions, runConformance } from './run-conformance.ts';

const scoreOf = (...checks: [check: string, status: Check['status'], scored?: boolean][]): ConformanceScore => ({
  exitCode: 0,
  checks: checks.map(([check, status, scored = true]) => ({ scenario: 's', check, status, scored, message: 'why' })),
  passed: 0,
  failed: 0,
  output: '',
});

describe('comparing two scores', () => {
  const direct = scoreOf(['a', 'SUCCESS'], ['b', 'FAILURE'], ['c', 'WARNING']);

  test.for<[string, ConformanceScore, string[]]>([
    ['the same', direct, []],
    ['better', scoreOf(['a', 'SUCCESS'], ['b', 'SUCCESS'], ['d', 'SUCCESS']), []],
    ['a new failure', scoreOf(['a', 'FAILURE']), ['s a: SUCCESS → FAILURE']],
    ['a new warning', scoreOf(['a', 'WARNING']), ['s a: SUCCESS → WARNING']],
    ['a check that did not run', scoreOf(['b', 'FAILURE']), ['s a: SUCCESS → absent']],
    ['a failure of another check', scoreOf(['a', 'SUCCESS'], ['e', 'FAILURE']), ['s e: absent → FAILURE']],
    ['one failure among several of a check', scoreOf(['a', 'SUCCESS'], ['a', 'FAILURE']), ['s a: SUCCESS → FAILURE']],
    ['one success among several of a check', scoreOf(['a', 'FAILURE'], ['a', 'SUCCESS']), ['s a: SUCCESS → FAILURE']],
  ])('shows what %s means', ([, through, expected]) => {
    expect(regressions(direct, through)).toEqual(expected);
  });

  test('shows failures that count, or all', () => {
    const score = scoreOf(['a', 'FAILURE'], ['b', 'FAILURE', false], ['c', 'SUCCESS']);
    expect(failures(score)).toEqual(['s a: why']);
    expect(failures(score, 'all')).toEqual(['s a: why', 's b: why']);
  });
});

describe('running the suite', () => {
  test('reports a server that does everything wrong', async () => {
    await using upstream = await startRawUpstream((_request, res) => void res.writeHead(500).end());
    const score = await runConformance({ url: `${upstream.url}/mcp`, requirements: '2025-11-25' });
    expect(score.exitCode).toBe(1);
    expect(score.failed).toBeGreaterThan(20);
    expect(failures(score)).toContainEqual(expect.stringMatching(/^tools-list tools-list\/ToolsList: Failed/));
  });

  test('gives up when time is up', async () => {
    await using upstream = await startRawUpstream(() => undefined);
    const run = runConformance({ url: `${upstream.url}/mcp`, requirements: '2025-11-25', timeoutMs: 1000 });
    await expect(run).rejects.toThrow('did not end within 1000 ms');
  });
});
