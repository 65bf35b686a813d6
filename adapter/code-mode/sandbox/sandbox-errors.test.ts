import { describe, expect, test } from 'vitest';

import { CallFailure } from './call-failure.ts';
import { SANDBOX_LIMITS } from './sandbox-limits.ts';
import { valueOf } from '../testing/sandbox-kit.ts';
import { vmFailureOf } from '../testing/vm-kit.ts';

describe('code with a mistake', () => {
  test.each([
    ['return 1 +* 2', 1],
    ['const a = 1;\nconst b = ;\nreturn a', 2],
    ['const a = 1;\n\n\nreturn a a', 4],
    ['const text = "open;\nreturn text', 1],
    ['if (true) {\n  return 1', 2],
    ['const text = `never\nclosed', 1],
    ['\n/* never\nclosed\n', 2],
    ['const f = () => {\n  await null;\n};', 2],
    ['import x from "y";', 1],
    ['export const x = 1;', 1],
    ['let a = 1;\nlet a = 2;', 2],
    ['return super.x', 1],
    ['\u0000', 1],
  ])('is told what and in which line: %j', async (code, line) => {
    expect(await vmFailureOf(code)).toMatch(new RegExp(`^syntax: SyntaxError: .+ \\(line ${line}(, column \\d+)?\\)$`));
  });

  test.each([
    '}); escaped(); (async () => {',
    '} }); escaped(); ({ async code() {',
    '}, other() {',
    '} async function other() {',
    '} / 1 /\nfunction g() {',
    '} escaped(); {',
    '}',
    '}\n/*',
    '} //',
    '} }).code; ({ async code() {\n',
    '} async function code() {\n} }); ({ code() {',
    '`}`; } {',
    '}\n-->',
    '}, get code() { return 1',
    '}; async function code() {',
  ])('that ends its function early is no code: %j', async (code) => {
    expect(await vmFailureOf(code)).toMatch(/^syntax: SyntaxError: .+ \(line \d/);
  });

  test.each([
    ['nothing.here', 1, /ReferenceError: '?nothing/],
    ['const a = null;\nreturn a.b;', 2, /TypeError: cannot read property 'b' of null/],
    [
      'const deep = (n) => {\n  if (n === 0) throw new RangeError("deep");\n  deep(n - 1);\n};\ndeep(5);',
      2,
      /RangeError: deep/,
    ],
    ['await null;\nawait null;\nthrow new Error("late");', 3, /Error: late/],
    ['await Promise.all([1, 2].map(async (n) => {\n  await null;\n  n();\n}));', 3, /TypeError: not a function/],
    ['class Own extends Error {\n  name = "Own";\n}\nthrow new Own("mine");', 3, /Own: mine .*called from line 4/],
    ['\n\nJSON.parse("{");', 3, /SyntaxError/],
    ['\nsetTimeout(() => {}, 1);', 2, /ReferenceError: '?setTimeout/],
    ['return [3, 1].sort(() => {\n  throw new Error("in sort");\n});', 2, /Error: in sort/],
    [
      'return {\n  toJSON() {\n    throw new Error("in toJSON");\n  },\n};',
      3,
      /the returned value is not JSON: Error: in toJSON/,
    ],
    ['return {\n  get a() { return undefined.x; },\n};', 2, /the returned value is not JSON: TypeError/],
    ['eval("\\n\\n\\nnothing.here")', 1, /ReferenceError/],
  ])('that fails is told what and in which line: %j', async (code, line, message) => {
    const failure = await vmFailureOf(code);
    expect(failure).toMatch(message);
    expect(failure).toMatch(new RegExp(`^error: .+ \\(line ${line}(, column \\d+)?(; called from line [\\d, ]+)?\\)$`));
  });

  test.each([
    ['throw "text"', 'text'],
    ['throw 7', '7'],
    ['throw undefined', 'undefined'],
    ['throw null', 'null'],
    ['throw { code: 7 }', '{"code":7}'],
    ['throw { message: "no error", name: "Mine" }', 'Mine: no error'],
    ['throw Symbol("s")', 'Symbol(s)'],
    ['throw 1n', '1n'],
    ['throw Object.create(null)', '{}'],
    ['throw ""', ''],
    ['await Promise.reject()', 'undefined'],
  ])('may throw anything: %s', async (code, message) => {
    expect(await vmFailureOf(code)).toBe(`error: ${message}`);
  });

  test.each([
    [`throw { get message() { throw 1 } }`, /^error: an error that cannot be shown$/],
    [`throw { get message() { for (;;); } }`, /^compute_time/],
    [
      `const error = new Error('x'); Object.defineProperty(error, 'stack', { get() { for (;;); } }); throw error`,
      /^compute_time/,
    ],
    [
      `const error = new Error('x'); Object.defineProperty(error, 'stack', { get() { throw error } }); throw error`,
      /^error: Error: x$/,
    ],
    [`const error = new Error('x'); error.stack = 'at code.js:9999999:1'; throw error`, /^error: Error: x \(line 1\)$/],
    [`const error = new Error('x'); error.stack = {}; error.name = {}; throw error`, /^error: x$/],
    [
      `throw new Proxy(new Error('x'), { get() { throw 1 }, getPrototypeOf() { throw 2 } })`,
      /^error: an error that cannot be shown$/,
    ],
    [`throw new Error('x'.repeat(1e6))`, /^error: Error: x{8185}/],
    [`throw { toString() { throw 1 }, toJSON() { throw 2 } }`, /^error: \[a value that cannot be shown\]$/],
    [`Error.prepareStackTrace = () => { throw 1 }; throw new Error('x')`, /^error: Error: x/],
  ])('may throw errors that fight back: %s', async (code, failure) => {
    expect(await vmFailureOf(code, { computeMs: 50 })).toMatch(failure);
  });

  test('cannot give its value as JSON, and hears why', async () => {
    expect(await vmFailureOf('return 1n')).toMatch(/^error: the returned value is not JSON: TypeError: .*bigint/i);
    expect(await vmFailureOf('const a = {}; a.a = a; return a')).toMatch(
      /^error: the returned value is not JSON: .*circular/,
    );
  });

  test('sees errors as objects of its own', async () => {
    const code = `try { await call_tool(1) } catch (error) { return [error.constructor === Error, typeof error.stack] }`;
    expect(await valueOf(code)).toEqual([true, 'string']);
  });
});

describe('a call that fails', () => {
  const CATCHES = `try { await call_tool('a'); } catch (error) {
    return [error instanceof Error, error.message, error.code, error.data, JSON.stringify(error)];
  }`;
  const rejected = (error: Error): Promise<unknown> => {
    const callTool = async (): Promise<never> => {
      throw error;
    };
    return valueOf(CATCHES, { callTool });
  };

  test('says its code and data, which JSON shows with the message', async () => {
    const data = '{"retry":{"__proto__":1},"n":7}';
    expect(await rejected(new CallFailure('no such id', { code: '-32602', data }))).toEqual([
      true,
      'no such id',
      -32602,
      JSON.parse(data),
      `{"message":"no such id","code":-32602,"data":${data}}`,
    ]);
  });

  test('has neither where nothing gave them', async () => {
    expect(await rejected(new Error('bad luck'))).toEqual([true, 'bad luck', null, null, '{"message":"bad luck"}']);
  });

  test('keeps its code where the data are too large', async () => {
    const error = new CallFailure('much', {
      code: '7',
      data: JSON.stringify('x'.repeat(SANDBOX_LIMITS.callResultBytes)),
    });
    expect(await rejected(error)).toEqual([true, 'much', 7, null, '{"message":"much","code":7}']);
  });

  test('ends nothing where its data cannot be read', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(await rejected(new CallFailure('deep', { data: deep }))).toMatchObject({ 0: true, 1: expect.any(String) });
  });

  test('shows the message of what is refused before it is sent', async () => {
    expect(await valueOf('try { await call_tool(1); } catch (error) { return JSON.stringify(error); }')).toContain(
      'the name must be a string',
    );
  });
});
