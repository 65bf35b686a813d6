import { describe, expect, test } from 'vitest';

import { SANDBOX_LIMITS } from './sandbox-limits.ts';
import { type CallTool, Sandbox } from './sandbox.ts';
import { echo, failureOf, runCode, valueOf } from '../testing/sandbox-kit.ts';
import { vmFailureOf, vmValueOf } from '../testing/vm-kit.ts';

const untilAborted: CallTool = (_name, _args, signal) =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
  });
const never = new AbortController().signal;

describe('code', () => {
  test.each([
    ['return 1 + 1', 2],
    ['return "text"', 'text'],
    ['return { a: [1, null, undefined, { b: true }] }', { a: [1, null, null, { b: true }] }],
    ['return await Promise.all([1, Promise.resolve(2)])', [1, 2]],
    ['return new Promise((resolve) => resolve(7))', 7],
    [
      'const double = async (n) => 2 * n;\nlet sum = 0;\nfor (const n of [1, 2]) sum += await double(n);\nreturn sum;',
      6,
    ],
    ['return { toJSON: () => "as JSON" }', 'as JSON'],
    ['return new Date(0)', '1970-01-01T00:00:00.000Z'],
    ['return 5 // a comment at the end', 5],
    ['"use strict"; return this === undefined', true],
    ['return "a\\u0000b\\ud800\\u{1f600}é"', 'a\u0000b\ud800\u{1f600}é'],
    ['return JSON.parse(\'{"__proto__": {"x": 1}, "y": 2}\')', JSON.parse('{"__proto__": {"x": 1}, "y": 2}')],
    ['', undefined],
    ['return undefined', undefined],
    ['return () => 1', undefined],
  ])('returns what it says: %s', async (code, value) => {
    expect(await vmValueOf(code)).toEqual(value);
  });

  test('writes to its console, in order and on every level', async () => {
    const code = `
      console.log('a', 1, { b: [2] }, null, undefined, true);
      console.error(new TypeError('bad')); console.warn(10n); console.info(Symbol('s')); console.debug('line\\u0000\\nbreak');
      const circle = {}; circle.me = circle; console.log(circle);
      return 1`;
    expect(await runCode(code)).toEqual({
      kind: 'returned',
      value: '1',
      calls: 0,
      console:
        'a 1 {"b":[2]} null undefined true\nTypeError: bad\n10n\nSymbol(s)\nline\u0000\nbreak\n[a value that cannot be shown]\n',
    });
  });

  test('keeps its console output when it fails', async () => {
    expect(await runCode('console.log("before"); nothing()')).toMatchObject({ kind: 'failed', console: 'before\n' });
    const limits = { computeMs: 100 };
    expect(await runCode('console.log("before"); for (;;);', { limits })).toMatchObject({ console: 'before\n' });
  });

  test('has console output that is cut where the limit is, and says so', async () => {
    const limits = { outputBytes: 1000 };
    const many = await runCode('for (let i = 0; i < 1e5; i++) console.log("line", i); return 1', { limits });
    expect(many).toMatchObject({ kind: 'returned', value: '1' });
    expect(many.console).toMatch(/^line 0\nline 1\n.*line 122\n… \(the rest .* is cut: more than 1000 bytes\)\n$/s);
    const wide = await runCode('for (let i = 0; i < 500; i++) console.log("éé"); return 1', { limits });
    expect(wide.console.split('\n').slice(-3)).toEqual(['éé', expect.stringContaining('is cut'), '']);
    const long = await runCode('console.log("é".repeat(1e6)); console.log("after"); return 1', { limits });
    expect(long.console).toBe('… (the rest of the console output is cut: more than 1000 bytes)\n');
  });
});

describe('a call of a tool', () => {
  test('gets its arguments and gives its answer, one after the other', async () => {
    const asked: unknown[] = [];
    const callTool: CallTool = async (name, args) => {
      asked.push([name, args]);
      return JSON.stringify({ n: asked.length, text: 'a\u0000b\ud83d\ude00' });
    };
    const code = `
      const a = await call_tool('first', { x: [1, { y: 'é\\u0000"' }] });
      const b = await call_tool('séc"ond\\u0000', { ...a });
      const c = await call_tool('third');
      return [a, b, c].map(({ n, text }) => n + text);`;
    expect(await runCode(code, { callTool })).toEqual({
      kind: 'returned',
      value: JSON.stringify([1, 2, 3].map((n) => `${n}a\u0000b\u{1f600}`)),
      console: '',
      calls: 3,
    });
    expect(asked).toEqual([
      ['first', { x: [1, { y: 'é\u0000"' }] }],
      ['séc"ond\u0000', { n: 1, text: 'a\u0000b\u{1f600}' }],
      ['third', {}],
    ]);
  });

  test('runs beside others, up to a limit beyond which calls wait for their turn', async () => {
    const running = new Set<unknown>();
    let most = 0;
    const callTool: CallTool = async (_name, { n }) => {
      running.add(n);
      most = Math.max(most, running.size);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running.delete(n);
      return String(n);
    };
    const code = `return await Promise.all(Array.from({ length: 20 }, (_, n) => call_tool('t', { n })))`;
    const value = await valueOf(code, { callTool, limits: { parallelCalls: 3 } });
    expect(value).toEqual(Array.from({ length: 20 }, (_, n) => n));
    expect(most).toBe(3);
  });

  test('that fails throws its message, in the line of the call', async () => {
    const callTool: CallTool = (name) => Promise.reject(new Error(`${name}: no "such"\u0000 thing`));
    const code = `try { await call_tool('t') } catch (error) { return [error instanceof Error, error.message] }`;
    expect(await valueOf(code, { callTool })).toEqual([true, 't: no "such"\u0000 thing']);
    const uncaught = `const x = 1;\nconst get = () =>\n  call_tool('t');\nawait get();`;
    expect(await failureOf(uncaught, { callTool })).toMatch(
      /^error: Error: t: no "such"\0 thing \(line 3, column \d+; called from line 4\)$/,
    );
    const thrown: CallTool = () => {
      throw new Error('at once');
    };
    expect(await failureOf(`await call_tool('t')`, { callTool: thrown })).toMatch(/^error: Error: at once \(line 1,/);
  });

  test('of the wrong kind is refused in the code', async () => {
    const wrong: readonly (readonly [string, string | RegExp])[] = [
      [`call_tool()`, 'the name must be a string'],
      [`call_tool({ name: 't' })`, 'the name must be a string'],
      [`call_tool('t', null)`, 'the arguments must be an object'],
      [`call_tool('t', [1])`, 'the arguments must be an object'],
      [`call_tool('t', 'text')`, 'the arguments must be an object'],
      [`call_tool('t', { toJSON: () => [1] })`, 'the arguments must be an object'],
      [`call_tool('t', { toJSON: () => undefined })`, 'the arguments are not JSON'],
      [`call_tool('t', circle)`, 'circular'],
      [`call_tool('t', { n: 1n })`, /bigint/i],
      [`call_tool('t', { text: 'x'.repeat(101) })`, 'the arguments are longer than 100 bytes'],
      [`call_tool('t', { text: 'é'.repeat(60) })`, 'the arguments are longer than 100 bytes'],
      [`call_tool('t'.repeat(101))`, 'the arguments are longer than 100 bytes'],
      [`call_tool('t', { answer: 'x'.repeat(70) })`, 'the answer of t has 103 bytes, more than the 100'],
    ];
    const limits = { argumentBytes: 100, callResultBytes: 100 };
    const code = `
      const circle = {}; circle.me = circle;
      const told = [];
      for (const call of [${wrong.map(([call]) => `() => ${call}`).join()}]) {
        try { told.push(await call()) } catch (error) { told.push([error instanceof Error, error.message]) }
      }
      return told`;
    expect(await valueOf(code, { limits })).toEqual(wrong.map(([, message]) => [true, expect.stringMatching(message)]));
    expect(await failureOf(`await call_tool()`, { limits })).toMatch('the name must be a string');
  });

  test('with arguments in many levels is refused, wherever their brackets stand', async () => {
    const nest = (levels: number): string => `let a = {}; for (let i = 1; i < ${levels}; i++) a = { a };`;
    expect(await failureOf(`${nest(501)} await call_tool('t', a)`)).toMatch('nested deeper than 500 levels');
    expect(await valueOf(`${nest(500)} await call_tool('t', a); return 1`)).toBe(1);
    expect(await valueOf(`return (await call_tool('t', { '[[\\"{': '"\\\\['.repeat(1000) })).args`)).toEqual({
      '[["{': '"\\['.repeat(1000),
    });
  });

  test('with an answer that is not JSON throws', async () => {
    const callTool: CallTool = () => Promise.resolve('{"cut');
    expect(await failureOf(`await call_tool('t')`, { callTool })).toMatch(/^error: Error: the answer is not JSON/);
  });

  test('takes large arguments and large answers', async () => {
    const callTool: CallTool = (_name, { text }) =>
      Promise.resolve(JSON.stringify([String(text).length, 'y'.repeat(3e6)]));
    const code = `const [sent, got] = await call_tool('t', { text: 'é'.repeat(500000) }); return [sent, got.length]`;
    expect(await valueOf(code, { callTool })).toEqual([500_000, 3_000_000]);
  });

  test('that nobody waits for any more is aborted', async () => {
    const aborted: unknown[] = [];
    const callTool: CallTool = async (name, _args, signal) => {
      if (name === 'slow') signal.addEventListener('abort', () => aborted.push(name));
      return name === 'slow' ? await new Promise<never>(() => {}) : '1';
    };
    expect(await runCode(`call_tool('slow'); return await call_tool('quick')`, { callTool })).toMatchObject({
      value: '1',
      calls: 2,
    });
    expect(aborted).toEqual(['slow']);
  });

  test('more often than the limit ends the run', async () => {
    const limits = { calls: 10 };
    const message = 'calls: the code made more than 10 calls';
    expect(await failureOf(`for (let i = 0; i < 10000; i++) await call_tool('t')`, { limits })).toBe(message);
    expect(await failureOf(`for (let i = 0; i < 10000; i++) try { await call_tool('t') } catch {}`, { limits })).toBe(
      message,
    );
    expect(
      await failureOf(`await Promise.allSettled(Array.from({ length: 10000 }, () => call_tool('t')))`, { limits }),
    ).toBe(message);
    expect(await failureOf(`for (;;) { call_tool('t').catch(() => {}) }`, { limits })).toBe(message);
    expect(await valueOf(`for (let i = 0; i < 10; i++) await call_tool('t'); return 'all'`, { limits })).toBe('all');
  });
});

describe('a run', () => {
  test('is not troubled by rejections that nobody looks at', async () => {
    const callTool: CallTool = () => Promise.reject(new Error('no'));
    const code = `Promise.reject(new Error('lost')); call_tool('t'); await null; call_tool('t'); return 'fine'`;
    expect(await valueOf(code, { callTool })).toBe('fine');
  });

  test.each(['await new Promise(() => {})', 'await { then() {} }', 'for await (const x of [new Promise(() => {})]);'])(
    'that waits for what never comes ends at once: %s',
    async (code) => {
      expect(await vmFailureOf(code)).toBe('error: the code waits for something that never comes');
    },
  );

  test('shares nothing with another, before or beside it', async () => {
    const sandbox = new Sandbox({ limits: SANDBOX_LIMITS, maxRunning: 4 });
    const code = `
      const seen = [globalThis.mark, Object.prototype.mark, Array.prototype.map.mark, await call_tool('t')];
      globalThis.mark = Object.prototype.mark = Array.prototype.map.mark = 1; call_tool = null; JSON.parse = null;
      return seen`;
    const run = () => sandbox.run({ code, callTool: () => Promise.resolve('"called"'), signal: never });
    const first = await run();
    const outcomes = [first, ...(await Promise.all([run(), run()])), await run()];
    expect(outcomes.map((outcome) => (outcome.kind === 'returned' ? outcome.value : outcome.message))).toEqual(
      Array.from({ length: 4 }, () => '[null,null,null,"called"]'),
    );
  });

  test('beyond those that may go on waits, is refused after a while, and has room when one has ended', async () => {
    const sandbox = new Sandbox({ limits: SANDBOX_LIMITS, maxRunning: 2, waitMs: 2000 });
    const ending = new AbortController();
    const long = [1, 2].map(() =>
      sandbox.run({ code: `await call_tool('t')`, callTool: untilAborted, signal: ending.signal }),
    );
    const code = 'return 1';
    expect(await sandbox.run({ code, callTool: echo, signal: never })).toEqual({
      kind: 'failed',
      reason: 'busy',
      message: 'too many other runs are going on: try again later',
      console: '',
      calls: 0,
    });
    const waiting = sandbox.run({ code, callTool: echo, signal: never });
    const cancelled = new AbortController();
    const given = sandbox.run({ code, callTool: echo, signal: cancelled.signal });
    cancelled.abort();
    expect(await given).toMatchObject({ reason: 'aborted' });
    ending.abort();
    expect((await Promise.all(long)).map((outcome) => outcome.kind === 'failed' && outcome.reason)).toEqual([
      'aborted',
      'aborted',
    ]);
    expect(await waiting).toMatchObject({ kind: 'returned', value: '1' });
    expect(await sandbox.run({ code, callTool: echo, signal: never })).toMatchObject({ kind: 'returned', value: '1' });
  });

  test('of one owner leaves room for those of others', async () => {
    const sandbox = new Sandbox({ limits: SANDBOX_LIMITS, maxRunning: 2, waitMs: 100 });
    const ending = new AbortController();
    const long = sandbox.run({
      owner: 'a',
      code: `await call_tool('t')`,
      callTool: untilAborted,
      signal: ending.signal,
    });
    const run = (owner: string) => sandbox.run({ owner, code: 'return 1', callTool: echo, signal: never });
    expect(await Promise.all([run('a'), run('b')])).toMatchObject([{ reason: 'busy' }, { value: '1' }]);
    ending.abort();
    await long;
    expect(await run('a')).toMatchObject({ value: '1' });
  });

  test('with too much code does not begin', async () => {
    expect(await failureOf('/*é*/', { limits: { codeBytes: 5 } })).toBe('code_size: the code is longer than 5 bytes');
    expect(await failureOf('/*é*/', { limits: { codeBytes: 6 } })).toBe('returned undefined');
  });

  test('ends when its signal says so: before it, while it computes, while it waits for a call', async () => {
    const message = 'aborted: the run was cancelled';
    expect(await failureOf('return 1', { signal: AbortSignal.abort() })).toBe(message);
    expect(await failureOf('for (;;);', { signal: AbortSignal.timeout(200) })).toBe(message);
    const ending = new AbortController();
    let nested: AbortSignal | undefined;
    const callTool: CallTool = (name, args, signal) => {
      nested = signal;
      setTimeout(() => ending.abort(), 10);
      return untilAborted(name, args, signal);
    };
    expect(await failureOf(`await call_tool('t')`, { signal: ending.signal, callTool })).toBe(message);
    expect(nested?.aborted).toBe(true);
  });

  test('ends after its total time, also when a call never answers', async () => {
    const callTool: CallTool = () => new Promise(() => {});
    const limits = { totalMs: 400 };
    expect(await failureOf(`await call_tool('t')`, { limits, callTool })).toBe(
      'total_time: the run took longer than 0.4 s',
    );
  });

  test('waits for calls without using up its time to compute', async () => {
    const callTool: CallTool = () => new Promise((resolve) => setTimeout(() => resolve('1'), 1_600));
    expect(await valueOf(`return await call_tool('t')`, { limits: { computeMs: 200 }, callTool })).toBe(1);
  });

  test('ends with its sandbox, which starts no other', async () => {
    const sandbox = new Sandbox({ limits: SANDBOX_LIMITS, maxRunning: 2 });
    const running = sandbox.run({ code: `await call_tool('t')`, callTool: untilAborted, signal: never });
    await sandbox.close();
    expect(await running).toMatchObject({ kind: 'failed', reason: 'aborted' });
    expect(await sandbox.run({ code: 'return 1', callTool: echo, signal: never })).toMatchObject({ reason: 'aborted' });
  });
});
