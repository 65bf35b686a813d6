import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { UsageError } from '../command-line.ts';
import { ApiError } from '../kubernetes/kubernetes.ts';
import { ProblemError, UnreachableError } from './cluster/failures.ts';
import { type Command, COMMANDS } from './commands.ts';
import type { CommandContext } from './commands/command.ts';
import { completions } from './completion.ts';
import { runPlugin } from './run.ts';

async function runOf(args: readonly string[], commands: Readonly<Record<string, Command>> = COMMANDS) {
  const said = { out: [] as string[], err: [] as string[] };
  const context: CommandContext = {
    streams: { out: (text) => void said.out.push(text), err: (text) => void said.err.push(text) },
    version: '1.2.3',
    env: {},
    connect: () => Promise.reject(new UnreachableError('there is no cluster here')),
    signal: new AbortController().signal,
    isTerminal: false,
  };
  const code = await runPlugin(args, context, commands);
  return { code, out: said.out.join('\n'), err: said.err.join('\n') };
}

const failing = (error: unknown): Readonly<Record<string, Command>> => ({
  'do it': {
    summary: '',
    synopsis: '',
    help: '',
    examples: [],
    rules: [],
    load: async () => async () => {
      throw error;
    },
  },
});

describe('exit codes', () => {
  test.each<[number, unknown]>([
    [1, new ProblemError('x')],
    [1, new ApiError(404, 'NotFound', 'x')],
    [1, new ApiError(409, 'Conflict', 'x')],
    [1, new ApiError(422, 'Invalid', 'x')],
    [1, Object.assign(new Error('x'), { code: 'EEXIST' })],
    [2, new UsageError('x')],
    [3, new UnreachableError('x')],
    [3, new ApiError(403, 'Forbidden', 'x')],
    [3, new ApiError(404, 'NotFound', 'x: the server could not find the requested resource')],
    [3, new ApiError(503, 'ServiceUnavailable', 'x')],
    [3, Object.assign(new Error('x'), { code: 'ECONNREFUSED' })],
    [3, Object.assign(new Error('x'), { code: 'SELF_SIGNED_CERT_IN_CHAIN' })],
    [3, new DOMException('x', 'TimeoutError')],
  ])('%i for %o', async (code, error) => {
    expect(await runOf(['do', 'it'], failing(error))).toMatchObject({ code, err: expect.stringContaining('do it: x') });
  });

  test('what others write does nothing to the terminal', async () => {
    const { err } = await runOf(['do', 'it'], failing(new ProblemError('a\u001B[2Jb\u202Ec')));
    expect(err).toBe('kubectl mcpadapter do it: a\\u{1b}[2Jb\\u{202e}c');
  });

  test('a word that is no command, half of one, and no cluster', async () => {
    expect(await runOf(['nope'])).toMatchObject({ code: 2, err: expect.stringContaining('no command "nope"') });
    expect(await runOf(['constructor'])).toMatchObject({ code: 2 });
    expect(await runOf(['sessions'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('sessions list or sessions end'),
    });
    expect(await runOf(['status'])).toMatchObject({
      code: 3,
      err: expect.stringContaining('there is no cluster here'),
    });
  });
});

const ALL = Object.entries(COMMANDS);

test.each(ALL.filter(([, { hasOwnHelp }]) => hasOwnHelp !== true))(
  '%s shows its examples in --help',
  async (name, command) => {
    const { code, out } = await runOf([...name.split(' '), '--help']);
    expect(code).toBe(0);
    expect(command.examples).not.toEqual([]);
    for (const example of command.examples) expect(out).toContain(example);
  },
);

test.each(ALL)('%s prints a Role with its rules and no wildcard', async (name, command) => {
  const { code, out } = await runOf([...name.split(' '), '--print-role']);
  expect(code).toBe(0);
  const role = parse(out) as { rules?: unknown } | null;
  expect(role?.rules ?? []).toEqual(command.rules);
  expect(JSON.stringify(command.rules)).not.toContain('*');
});

test.each(ALL.filter(([, { rules }]) => rules.length > 0))(
  '%s refuses an option that it does not know',
  async (name) => {
    expect(await runOf([...name.split(' '), 'one', '--no-such-option'])).toMatchObject({ code: 2 });
  },
);

describe('completion', () => {
  test.each<[string[], string[]]>([
    [['st'], ['status']],
    [
      ['sessions', ''],
      ['end', 'list'],
    ],
    [['status', '-o', 'y'], ['yaml']],
    [['status', '--p'], ['--print-role']],
    [['status', ''], []],
    [
      ['lock', ''],
      ['approve', 'create', 'diff'],
    ],
    [['lock', 'approve', 'search', '--d'], ['--dry-run']],
    [['lock', 'diff', 'search', '--d'], []],
  ])('of %j is %j, and no names of files', (typed, expected) => {
    expect(completions(typed, COMMANDS)).toEqual([...expected, ':4']);
  });
});
