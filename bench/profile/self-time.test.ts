import { describe, expect, test } from 'vitest';
import { partTimes, selfTimes } from './self-time.ts';
import type { CpuProfile } from './self-time.ts';

const node = (id: number, functionName: string, url = '', lineNumber = -1) => ({
  id,
  callFrame: { functionName, url, lineNumber },
});

/** Samples at 1, 2, 3 … ms after the start, each standing for the millisecond after it. */
const profile = (samples: number[]): CpuProfile => ({
  nodes: [
    node(1, '(idle)'),
    node(2, '(garbage collector)'),
    node(3, 'callTool', 'file:///project/adapter/gateway/call-tool.ts', 9),
    node(4, 'callTool', 'file:///project/adapter/gateway/call-tool.ts', 9), // reached by another path
    node(5, '', 'file:///project/node_modules/undici/lib/client.js', 0),
    node(6, 'write', 'node:net', 4),
    node(7, 'run', 'file:///project/node_modules/@scope/name/index.js', 2),
  ],
  startTime: 5_000_000,
  samples,
  timeDeltas: samples.map(() => 1000),
});
const all = { fromMs: 0, toMs: 1000 };

describe('self times', () => {
  test('are summed by function, whichever way it was reached, largest first', () => {
    expect(selfTimes(profile([3, 2, 4, 3, 1]), all, '/project')).toEqual([
      { name: 'callTool', place: 'adapter/gateway/call-tool.ts:10', part: 'adapter/gateway', ms: 3 },
      { name: '(garbage collector)', place: '', part: 'V8', ms: 1 },
    ]);
  });

  test('idle time is not work', () => {
    expect(selfTimes(profile([1, 1, 1, 1]), all, '/project')).toEqual([]);
  });

  test('only the span counts', () => {
    // Samples at 1 to 5 ms; those at 2 and 3 ms lie within.
    const [only, ...others] = selfTimes(profile([6, 3, 3, 6, 6]), { fromMs: 2, toMs: 4 }, '/project');
    expect(only).toMatchObject({ name: 'callTool', ms: 2 });
    expect(others).toEqual([]);
  });

  test('packages and node are told apart', () => {
    const times = selfTimes(profile([5, 5, 5, 6, 6, 7, 1]), all, '/project');
    expect(times.map(({ name, place }) => [name, place])).toEqual([
      ['(anonymous)', 'undici/lib/client.js:1'],
      ['write', 'node:net:5'],
      ['run', '@scope/name/index.js:3'],
    ]);
    expect(partTimes(times)).toEqual([
      { part: 'undici', ms: 3 },
      { part: 'node', ms: 2 },
      { part: '@scope/name', ms: 1 },
    ]);
  });
});
