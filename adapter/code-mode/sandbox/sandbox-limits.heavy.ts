import { describe, expect, test } from 'vitest';

import type { SandboxOutcome } from './sandbox.ts';
import { blockedDuring, failureOf, type KitOptions, runCode, SHORT } from '../testing/sandbox-kit.ts';

/** What an event loop may stand still, whatever code does. */
const BLOCKED_MS = 50;
/** A busy machine stops everything now and then; code that blocks does so every time. */
const ATTEMPTS = 5;

/** Reason of the end, or the returned JSON; with the time that the event loop stood still. */
async function endOf(code: string, options: KitOptions = {}): Promise<string> {
  let end = '';
  const blocked: number[] = [];
  while (blocked.length < ATTEMPTS && blocked.every((ms) => ms >= BLOCKED_MS)) {
    const { result, blockedMs } = await blockedDuring(() => runCode(code, { limits: SHORT, ...options }));
    blocked.push(blockedMs);
    end = told(result);
  }
  expect(Math.min(...blocked), 'the event loop stood still for (ms)').toBeLessThan(BLOCKED_MS);
  return end;
}

function told(outcome: SandboxOutcome): string {
  return outcome.kind === 'failed' ? outcome.reason : `returned ${outcome.value}`;
}

describe('code that never ends is ended', () => {
  test.each([
    'for (;;);',
    'while (true) { try { while (true); } catch {} }',
    'try { for (;;); } finally { for (;;); }',
    'try { for (;;); } catch { return "caught" } finally { return "finally" }',
    'for (;;) await null',
    'const again = () => Promise.resolve().then(again); await again()',
    'const again = async () => { await null; await again() }; await again()',
    'const thenable = { then(resolve) { resolve(thenable) } }; await thenable',
    'await { then() { for (;;); } }',
    'return { get a() { for (;;); } }',
    'return { toJSON() { for (;;); } }',
    'return { get then() { for (;;); } }',
    'return new Proxy({}, { ownKeys() { for (;;); } })',
    'return [1, 2].sort(() => { for (;;); })',
    'Object.prototype.toJSON = () => { for (;;); }; return {}',
    'Promise.prototype.then = () => { for (;;); }; return await call_tool("t").then()',
    'call_tool("t", { toJSON() { for (;;); } })',
    'console.log({ toJSON() { for (;;); } })',
    'function* all() { for (;;) yield 1 } return [...all()].length ? 1 : Array.from(all())',
    'new Function("for (;;);")()',
    'eval("for (;;);")',
    'for (;;) console.log("x")',
    'for (;;) { try { null.x } catch {} }',
    'const f = () => { try { f() } finally { f() } }; f()',
    'label: for (;;) { try { continue label } finally { continue label } }',
    '[Symbol.iterator]; Array.from({ [Symbol.iterator]: () => ({ next: () => ({ done: false }), return() { for (;;); } }) })',
    'class A { static { for (;;); } }',
    '`${{ toString() { for (;;); } }}`',
  ])('%s', async (code) => {
    expect(await endOf(code)).toMatch(/^(compute_time|memory)$/);
  });

  test('also after a call, and between calls', async () => {
    expect(await endOf('await call_tool("t"); for (;;);')).toBe('compute_time');
    expect(await endOf('call_tool("t").then(() => { for (;;); }); await new Promise(() => {})')).toBe('compute_time');
    const slices = 'for (;;) { const until = Date.now() + 60; while (Date.now() < until); await call_tool("t") }';
    expect(await endOf(slices)).toBe('compute_time');
  });

  test('by the engine, before anybody has to stop it from outside', async () => {
    const before = process.cpuUsage();
    expect(told(await runCode('for (;;);', { limits: { computeMs: 600 } }))).toBe('compute_time');
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(1_800);
  });

  test.each([
    ['Array.prototype.indexOf.call({ length: Number.MAX_SAFE_INTEGER }, 1)', /^compute_time$/],
    ['Array.prototype.includes.call({ length: Number.MAX_SAFE_INTEGER }, 1)', /^compute_time$/],
    ['Array.prototype.lastIndexOf.call({ length: Number.MAX_SAFE_INTEGER }, 1)', /^compute_time$/],
    ['Array.prototype.reverse.call({ length: Number.MAX_SAFE_INTEGER })', /^compute_time$/],
    ['Array.prototype.fill.call({ length: Number.MAX_SAFE_INTEGER, set 0(v) {} }, 1)', /^(compute_time|memory)$/],
    ['/^(a+)+$/.test("a".repeat(40) + "b")', /^compute_time$/],
    ['/(x+x+)+y/.exec("x".repeat(100))', /^compute_time$/],
    ['"a".repeat(1e5).replace(/(?=(a+))a*b\\1/g, "")', /^(compute_time|returned undefined)$/],
    ['return "x".repeat(2 ** 29).length', /^memory$/],
    ['return "x".repeat(2 ** 30).length', /^error$/],
    ['return "x".padEnd(2 ** 29).length', /^memory$/],
    ['let s = "x"; for (;;) s += s', /^(memory|error)$/],
    ['2n ** 1000000n; let n = 3n; for (;;) n = n * n', /^(compute_time|memory|error)$/],
    ['return String(7n ** 300000n).length', /^(compute_time|error|returned \d+)$/],
    [
      'return Array.from({ length: 1e6 }, (_, i) => (i * 7919) % 1000003).sort((a, b) => a - b)[0]',
      /^(compute_time|memory)$/,
    ],
    ['const a = new Float64Array(1e6).map(() => Math.random()); for (;;) { a.sort(); a.reverse() }', /^compute_time$/],
    ['return new Array(2 ** 32 - 1).join("x").length', /^(memory|error|compute_time)$/],
    ['return [].concat(...Array(1e5).fill([1, 2, 3])).length', /^(error|stack|returned \d+)$/],
    ['return JSON.stringify("\\u0001".repeat(5e6)).length', /^(memory|compute_time|returned \d+)$/],
    ['let deep = []; for (let i = 0; i < 1e5; i++) deep = [deep]; return deep', /^(compute_time|stack)$/],
    [
      'let deep = {}; for (let i = 0; i < 1e5; i++) deep = { deep }; await call_tool("t", deep)',
      /^(compute_time|stack)$/,
    ],
    ['return "a,".repeat(5e6).split(",").length', /^(memory|returned \d+|compute_time)$/],
    ['return "ﬃ".repeat(3e6).normalize("NFKC").length', /^(memory|error|returned \d+|compute_time)$/],
    ['new RegExp("(?:" + "a|".repeat(1e6) + ")")', /^(compute_time|memory|stack)$/],
    ['throw { get message() { const a = []; for (;;) a.push({}) } }', /^(compute_time|error|memory)$/],
    ['new Array(1e9).fill().map(() => 1)', /^(memory|compute_time)$/],
    ['return structuredClone', /^error$/],
  ])('also inside one operation of the engine: %s', async (code, end) => {
    expect(await endOf(code)).toMatch(end);
  });
});

describe('code that wants all memory gets an error', () => {
  test.each([
    'const a = []; for (;;) a.push("x".repeat(1e5) + a.length)',
    'const a = []; for (;;) a.push({})',
    'const a = []; for (;;) a.push([])',
    'const a = []; for (;;) a.push(new Uint8Array(1e6))',
    'const a = []; for (;;) a.push(new ArrayBuffer(1e6))',
    'const a = []; for (;;) a.push(new Promise(() => {}))',
    'const a = []; for (;;) a.push(Promise.resolve().then(() => a))',
    'const a = []; for (;;) a.push(() => a)',
    'const a = []; for (;;) a.push(Symbol())',
    'const a = []; for (;;) a.push(BigInt(a.length) ** 1000n)',
    'const m = new Map(); for (let i = 0; ; i++) m.set(i, i)',
    'const o = {}; for (let i = 0; ; i++) o["key" + i] = i',
    'globalThis.a = []; for (;;) { globalThis.a = [globalThis.a, globalThis.a.slice()]; }',
    'globalThis.list = null; for (;;) globalThis.list = { next: globalThis.list, pad: "x".repeat(100) }',
    'new Uint8Array(2 ** 31 - 1)',
    'new ArrayBuffer(2 ** 30)',
    'return { toJSON() { const a = []; for (;;) a.push({}) } }',
    'const a = []; for (;;) { a.push(a.length); if (a.length % 100 === 0) await null }',
    'const a = ["x".repeat(1e6)]; return Array(1000).fill(a)',
  ])('%s', async (code) => {
    const limits = { ...SHORT, computeMs: 5_000 };
    expect(await endOf(code, { limits })).toMatch(/^memory$/);
  });

  test('that it may catch, after which it goes on', async () => {
    const code = `
      let caught = 0;
      for (let i = 0; i < 3; i++) try { const a = []; for (;;) a.push('x'.repeat(1e6) + i) } catch (error) { caught += error.message === 'out of memory' }
      return caught`;
    expect(await endOf(code, { limits: { ...SHORT, computeMs: 5_000 } })).toBe('returned 3');
  });

  test('as soon as it has more than the limit, not what the engine could have', async () => {
    const limits = { memoryBytes: 8 << 20 };
    expect(await endOf('return "x".repeat(6e6).length', { limits })).toBe('returned 6000000');
    expect(await endOf('return "x".repeat(12e6).length', { limits })).toBe('memory');
  });

  test('and can still say what it wanted to say', async () => {
    const code = `
      const mine = new Error('mine');
      globalThis.list = null;
      try { for (;;) list = { list } } catch { list = null }
      throw mine`;
    expect(await failureOf(code, { limits: { ...SHORT, computeMs: 5_000 } })).toBe(
      'error: Error: mine (line 2, column 29)',
    );
  });

  test('also when a large answer finds no room', async () => {
    const code = `const all = []; for (;;) all.push(await call_tool('t'))`;
    const callTool = () => Promise.resolve(JSON.stringify('x'.repeat(2e6)));
    expect(await endOf(code, { callTool, limits: { ...SHORT, computeMs: 5_000 } })).toBe('memory');
  });
});

describe('code that goes too deep gets an error', () => {
  test.each([
    'const f = () => f() + 1; f()',
    'const f = (...a) => f(...a, 1) + 1; f()',
    'JSON.parse("[".repeat(1e6))',
    'JSON.parse(`{"a":`.repeat(1e5))',
    'new RegExp("(?:".repeat(1e5) + ")".repeat(1e5))',
    'eval("(".repeat(1e6))',
    'eval("[".repeat(1e6))',
    'eval("-".repeat(1e6) + 1)',
    'eval("a=>".repeat(1e5) + 1)',
    'eval("{".repeat(1e6))',
    'eval("1" + "**1".repeat(1e6))',
    'new Function("`${".repeat(1e5))()',
    'const o = { toString() { return `${o}` } }; `${o}`',
    'const o = { valueOf() { return +o } }; +o',
    'const o = { toJSON() { return JSON.stringify(o) } }; return o',
    'const o = { get a() { return o.a } }; o.a',
    'const o = { set a(v) { o.a = v } }; o.a = 1',
    'const p = new Proxy({}, { get: (t, k) => p[k] }); p.a',
    'let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.a',
    'let p = () => {}; for (let i = 0; i < 1e5; i++) p = Object.defineProperty(p.bind(null), "name", { value: "" }); p()',
    'let p = {}; for (let i = 0; i < 1e5; i++) p = Object.create(new Proxy(p, {})); "x" in p',
    'const c = () => [2, 1].sort(c); c()',
    'const c = () => [1].map(c); c()',
    'const c = () => "a".replace(/a/, c); c()',
    'const c = () => Reflect.apply(c, null, []); c()',
    'const c = () => c.call(); c()',
    'const c = async () => { await c() }; await c()',
    'class A { constructor() { new A() } } new A()',
    'function* g() { yield* g() } [...g()]',
    'const a = [1]; a[Symbol.iterator] = () => [...a]; [...a]',
    'let a = []; a[0] = a; a.flat(Infinity)',
    'let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a.flat(Infinity); `${a}`',
    'const f = () => { console.log(1); f() }; f()',
  ])('%s', async (code) => {
    const limits = { ...SHORT, computeMs: 5_000, memoryBytes: 128 << 20, outputBytes: 4 << 20 };
    expect(await endOf(code, { limits })).toMatch(/^stack$/);
  });

  test('that it may catch, after which it goes on', async () => {
    const code = `const f = (n) => { try { return f(n + 1) } catch { return n } }; return f(0) > 500`;
    expect(await endOf(code)).toBe('returned true');
  });
});

describe('a run with much to say', () => {
  test.each([
    ['return "x".repeat(1e6)', 'output'],
    ['return Array.from({ length: 1e5 }, (_, i) => ({ i }))', 'output'],
    ['return "é".repeat(140000)', 'output'],
    ['console.log("x".repeat(1e7)); return 1', 'returned 1'],
    ['for (let i = 0; i < 1e5; i++) console.log(i); return 1', 'returned 1'],
    ['for (let i = 0; i < 1e4; i++) console.log("x".repeat(1e4)); return 1', 'returned 1'],
    [
      'for (let i = 0; i < 10; i++) try { await call_tool("t", { a: "x".repeat(2e6) }) } catch {} return 1',
      'returned 1',
    ],
    [
      'return (await Promise.all(Array.from({ length: 50 }, () => call_tool("t", { a: "x".repeat(1e5) })))).length',
      'returned 50',
    ],
    ['for (let i = 0; i < 1e4; i++) await call_tool("t")', 'calls'],
  ])('does not hold up the others: %s', async (code, end) => {
    expect(await endOf(code, { limits: { memoryBytes: 64 << 20 } })).toBe(end);
  });

  test('nor with the answers that it gets', async () => {
    const answer = JSON.stringify('x'.repeat(3e6));
    const code = 'let n = 0; for (let i = 0; i < 20; i++) n += (await call_tool("t")).length; return n';
    expect(await endOf(code, { limits: {}, callTool: () => Promise.resolve(answer) })).toBe('returned 60000000');
  });
});
