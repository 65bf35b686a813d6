import { describe, expect, test } from 'vitest';
import { parseOptions, usage } from './options.ts';

const known = [
  { name: 'echo', summary: 'small calls' },
  { name: 'idle', summary: 'memory' },
  { name: 'endurance', summary: 'many calls', long: true },
];
const run = (...argv: string[]) => {
  const parsed = parseOptions(argv, known);
  if (parsed.kind !== 'run') throw new Error(`not a run: ${JSON.stringify(parsed)}`);
  return parsed.options;
};
const reason = (...argv: string[]) => {
  const parsed = parseOptions(argv, known);
  return parsed.kind === 'misuse' ? parsed.reason : undefined;
};

describe('options of the benchmark', () => {
  test('without names everything runs but what takes long', () => {
    expect(run().experiments).toEqual(['echo', 'idle']);
    expect(run('--long').experiments).toEqual(['echo', 'idle', 'endurance']);
  });

  test('named experiments run once, in the fixed order', () => {
    expect(run('idle', 'echo', 'idle').experiments).toEqual(['echo', 'idle']);
    expect(run('endurance', '--long').experiments).toEqual(['endurance']);
  });

  test('quick shortens, and what is given explicitly counts', () => {
    expect(run()).toMatchObject({ rounds: 9, seconds: 2, quick: false });
    expect(run('--quick')).toMatchObject({ rounds: 2, seconds: 1, quick: true });
    expect(run('--quick', '--rounds', '7', '--seconds', '0.5')).toMatchObject({ rounds: 7, seconds: 0.5 });
  });

  test('the file of the results can be chosen', () => {
    expect(run().json).toBeUndefined();
    expect(run('--json', 'out.json').json).toBe('out.json');
  });

  test('misuse is told, not guessed around', () => {
    expect(reason('ecko')).toContain('no experiment "ecko"');
    expect(reason('endurance')).toContain('--long');
    expect(reason('--rounds', '0')).toContain('--rounds');
    expect(reason('--rounds', '2.5')).toContain('--rounds');
    expect(reason('--rounds', '101')).toContain('--rounds');
    expect(reason('--seconds', 'x')).toContain('--seconds');
    expect(reason('--seconds', '0.1')).toContain('--seconds');
    expect(reason('--json=')).toContain('--json');
    expect(reason('--nope')).toContain('--nope');
  });

  test('help wins over everything and names every experiment', () => {
    expect(parseOptions(['nope', '-h'], known)).toEqual({ kind: 'help' });
    for (const { name } of known) expect(usage(known)).toContain(`  ${name}`);
  });
});
