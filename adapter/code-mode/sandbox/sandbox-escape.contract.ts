import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';

import { type CallTool, type SandboxOutcome } from './sandbox.ts';
import { echo, runCode, SHORT, valueOf } from '../testing/sandbox-kit.ts';

describe('code reaches', () => {
  test('the language, call_tool and console, and nothing else', async () => {
    const names = (await valueOf('return Object.getOwnPropertyNames(globalThis)')) as string[];
    const language = new Set(Object.getOwnPropertyNames(globalThis));
    // What the engine has beyond the language of Node, or Node keeps elsewhere.
    const own = names.filter((name) => !language.has(name)).sort();
    expect(own).toEqual(['InternalError', 'call_tool']);
    const ofHosts =
      /^(process|global|Buffer|require|module|exports|fetch|Worker|WebAssembly|set(Timeout|Interval|Immediate)|queueMicrotask|structuredClone|performance|navigator|crypto|std|os|bjson|scriptArgs|print|load|postMessage|Atomics)$/;
    expect(names.filter((name) => ofHosts.test(name))).toEqual([]);
  });

  test('no name of a host', async () => {
    const names = [
      'require',
      'process',
      'module',
      'globalThis.process',
      'fetch',
      'XMLHttpRequest',
      'WebSocket',
      'std',
      'os',
      'Worker',
      'WebAssembly',
      'postMessage',
      'self',
      'Buffer',
      'setTimeout',
      'Deno',
      'parentPort',
    ];
    const types = names.map((name) => `(() => { try { return typeof (${name}) } catch { return 'undefined' } })()`);
    expect(await valueOf(`return [${types.join()}]`)).toEqual(names.map(() => 'undefined'));
  });

  test('no module', async () => {
    const file = join(tmpdir(), `sandbox-escape-${process.pid}.js`);
    onTestFinished(() => rm(file, { force: true }));
    await writeFile(file, 'export const x = 1');
    const names = [
      'fs',
      'node:fs',
      'std',
      'os',
      file,
      `file://${file}`,
      'data:text/javascript,export const x = 1',
      './sandbox.ts',
    ];
    const code = `
      const told = [];
      for (const name of ${JSON.stringify(names)}) {
        try { told.push(Object.keys(await import(name))) } catch { told.push('refused') }
      }
      return told`;
    expect(await valueOf(code)).toEqual(names.map(() => 'refused'));
  });

  test.each([
    'return typeof Function("return process")()',
    'return typeof (0, eval)("globalThis.process")',
    'return typeof call_tool.constructor("return this")().process',
    'return typeof console.log.constructor("return globalThis.require")()',
    'return typeof call_tool("t").constructor.constructor("return process")()',
    'return typeof (await call_tool("t")).constructor.constructor("return process")()',
    'try { await call_tool(1) } catch (error) { return typeof error.constructor.constructor("return process")() }',
    'return typeof (async () => {}).constructor("return process")().then.constructor("return this.process")()',
    'return typeof (function* () {}).constructor("yield process")().next.constructor("return this.process")()',
    'return typeof new Error().constructor.constructor("return this.process")()',
  ])('no constructor of the host: %s', async (code) => {
    const text = await runCode(code);
    expect(text.kind === 'returned' ? text.value : text.message).toMatch(/^("undefined"|ReferenceError)/);
  });

  test('no function of the host by way of stacks, callers or arguments', async () => {
    const code = `
      const found = [];
      const spy = { get a() { try { found.push(typeof call_tool.caller, typeof call_tool.arguments) } catch { found.push('refused') } return 1 } };
      await call_tool('t', spy);
      Error.prepareStackTrace = (_error, sites) => sites;
      let stack;
      await call_tool('t', { get a() { stack = new Error().stack; return 1 } });
      if (Array.isArray(stack)) for (const site of stack) for (const key of ['getFunction', 'getThis']) found.push(typeof site[key]?.());
      return found.filter((type) => type === 'function' || type === 'object').length`;
    expect(await valueOf(code)).toBe(0);
  });

  test('no memory that is shared, and no way to block the thread', async () => {
    expect(await valueOf('return typeof Atomics')).toBe('undefined');
    // Its memory is the engine's own, and crosses no border.
    expect(await valueOf('return new SharedArrayBuffer(8)')).toEqual({});
  });

  test('no variables of its environment', async () => {
    process.env['SANDBOX_SECRET'] = 'secret';
    const code =
      'return JSON.stringify(Object.getOwnPropertyNames(globalThis).map((name) => String(globalThis[name])))';
    expect(JSON.stringify(await valueOf(code))).not.toContain('secret');
    delete process.env['SANDBOX_SECRET'];
  });
});

describe('T17: code that changes built-ins changes only itself', () => {
  const TAMPER = `
    const { ownKeys } = Reflect;
    const all = [Object, Array, String, Promise, JSON, Reflect, Error, Map, Symbol, Function, Number, RegExp, Proxy];
    const tampered = () => { throw new Error('tampered') };
    const tamper = (part, holder) => {
      const keys = ownKeys(part);
      for (let k = 0; k < keys.length; k++) {
        try { if (typeof part[keys[k]] === 'function' && part[keys[k]] !== holder) part[keys[k]] = tampered } catch {}
      }
    };
    for (let i = 0; i < all.length; i++) { tamper(all[i]); if (all[i].prototype) tamper(all[i].prototype, all[i]) }`;

  test.each([
    [`JSON.parse = JSON.stringify = () => 'mine'; return (await call_tool('t')).name`, '"t"'],
    [`JSON = Promise = Reflect = Object = Array = String = Error = null; return (await call_tool('t')).name`, '"t"'],
    [`Object.prototype.toJSON = () => 'everything'; return { a: 1 }`, '"everything"'],
    [`Object.prototype.name = 'polluted'; Object.prototype.kind = 'end'; return (await call_tool('t', {})).args`, '{}'],
    [`Object.prototype.reason = 'busy'; Object.prototype.value = 9; return [(await call_tool('t')).name]`, '["t"]'],
    [`Object.prototype.__proto__.x = 1`, /null/],
    [`Object.defineProperty(Object.prototype, 'then', { get() { return undefined } }); return { a: 1 }`, '{"a":1}'],
    [
      `Object.prototype.then = function (resolve) { delete Object.prototype.then; resolve('mine') }; return {}`,
      '"mine"',
    ],
    [`Array.prototype.push = Array.prototype.map = () => 1; return [(await call_tool('t')).name]`, '["t"]'],
    [
      `class Mine extends Promise {} Promise[Symbol.species] = Mine; Promise.prototype.constructor = Mine; return (await call_tool('t')).name`,
      '"t"',
    ],
    [
      `Object.defineProperty(Promise, Symbol.species, { value: function () { throw 1 } }); return (await call_tool('t')).name`,
      '"t"',
    ],
    [`return { then: 1, get constructor() { return 1 } }`, '{"then":1,"constructor":1}'],
    [`return { get then() { return (resolve) => resolve('from then') } }`, '"from then"'],
    [`console = null; call_tool = null; return 1`, '1'],
    [
      `Number.prototype.toJSON = Boolean.prototype.toJSON = String.prototype.toJSON = () => 'x'; return [1, true, 's']`,
      '[1,true,"s"]',
    ],
    [
      `Object.defineProperty(Error.prototype, 'message', { set() { throw 1 }, get() { return 'mine' } }); try { await call_tool(1) } catch (e) { return e.message }`,
      /the name must be a string/,
    ],
  ])('%s', async (code, expected) => {
    const outcome = await runCode(code);
    expect(outcome.kind === 'returned' ? outcome.value : outcome.message).toMatch(expected);
  });

  test('and all of them at once', async () => {
    const asked: unknown[] = [];
    const callTool: CallTool = (name, args) => {
      asked.push([name, args, Object.getPrototypeOf(args) === Object.prototype]);
      return echo(name, args, new AbortController().signal);
    };
    const outcome = await runCode(`${TAMPER}\nreturn (await call_tool('t', { a: 1 })).name`, {
      callTool,
      limits: SHORT,
    });
    expect(outcome.kind === 'returned' ? outcome.value : outcome.message).toBe('"t"');
    expect(asked).toEqual([['t', { a: 1 }, true]]);
    expect(await valueOf('return Object.keys([1])')).toEqual(['0']);
  });

  test('also through what crosses the border', async () => {
    const asked: Record<string, unknown>[] = [];
    const callTool: CallTool = (_name, args) => {
      asked.push(args);
      return Promise.resolve('{"__proto__":{"polluted":2},"constructor":{"prototype":{"polluted":3}}}');
    };
    const code = `
      const got = await call_tool('t', JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'));
      return [{}.polluted, got.polluted, Object.keys(got), got]`;
    const outcome: SandboxOutcome = await runCode(code, { callTool });
    expect(outcome).toMatchObject({ kind: 'returned' });
    expect((outcome as { value: string }).value).toContain('[null,null,["__proto__","constructor"],{"__proto__":');
    expect(Object.keys(asked[0] ?? {})).toEqual(['__proto__', 'constructor']);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});
