import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningAdapter, startAdapter } from '../../support/adapter-process.ts';
import { loopGaps, WATCHED } from '../../support/loop-gaps.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream/scripted-upstream.ts';
import { mounted } from '../kit/deployment.ts';
import { type Door, openSession, textOf } from '../kit/session.ts';
import { CODE_MODE, execute, parsed, type Said, valueOf } from './kit/code.ts';
import { secret } from '../../support/secrets/secret.ts';

/** What nobody may be kept waiting for longer than, in milliseconds. */
const MOST_BUSY_MS = 50;
const SECRET = secret('variable and static header');

interface Attack {
  readonly what: string;
  readonly code: string;
  /** What the model that wrote it is told. */
  readonly says: RegExp;
}

/** Code that takes what there is; each of it ends in much less than a second. */
const GREEDY: readonly Attack[] = [
  {
    what: 'takes memory in pieces',
    code: `const all = []; for (;;) all.push('x'.repeat(1e5) + all.length);`,
    says: /memory/i,
  },
  { what: 'takes memory in one piece', code: `let text = 'x'; for (;;) text += text;`, says: /memory|too long/i },
  { what: 'takes memory as an array', code: `return new Uint8Array(2 ** 30).length;`, says: /memory|length/i },
  { what: 'calls itself', code: `const f = () => f() + 1; return f();`, says: /stack|deep|recurs/i },
  {
    what: 'makes 10,000 calls in a row',
    code: `for (let i = 0; i < 1e4; i++) await call_tool('echo', { i });`,
    says: /100 calls|more than 100/i,
  },
  {
    what: 'makes 10,000 calls at once',
    code: `await Promise.all([...Array(1e4).keys()].map((i) => call_tool('echo', { i })));`,
    says: /100 calls|more than 100/i,
  },
  { what: 'returns 10 MB', code: `return 'x'.repeat(1e7);`, says: /output|returned|256/i },
  { what: 'returns what is in a circle', code: `const a = {}; a.a = a; return a;`, says: /circular/i },
  { what: 'waits for what never comes', code: `await new Promise(() => {});`, says: /never/i },
  { what: 'is longer than code may be', code: `/* ${'x'.repeat(300_000)} */`, says: /code|long|256/i },
  { what: 'is no JavaScript', code: `\n\nthis is not it`, says: /line 3/ },
  { what: 'throws what is no error', code: `throw { toString() { for (;;) throw this; } };`, says: /./ },
  {
    what: 'gives more to a call than it may',
    code: `await call_tool('echo', { text: 'x'.repeat(2e6) });`,
    says: /arguments/i,
  },
];

/** Code that takes time: each uses up all that it may have. */
const ENDLESS: readonly Attack[] = [
  {
    what: 'takes memory and forgets errors',
    code: `const all = []; for (;;) { try { all.push('x'.repeat(1e6) + all.length); } catch {} }`,
    says: /memory|comput/i,
  },
  {
    what: 'calls itself and forgets errors',
    code: `const f = () => { try { f(); } catch { f(); } }; f();`,
    says: /stack|deep|recurs|comput/i,
  },
  {
    what: 'nests deeply',
    code: `let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a;`,
    says: /stack|deep|recurs|circular|memory|comput/i,
  },
  { what: 'runs in a circle', code: `for (;;);`, says: /comput|time/i },
  { what: 'runs in a circle of promises', code: `for (;;) await null;`, says: /comput|time/i },
  {
    what: 'is busy inside of one operation',
    code: `return /^(a+)+$/.test('a'.repeat(40) + 'b');`,
    says: /comput|time|memory|stack/i,
  },
  {
    what: 'catches every end',
    code: `for (;;) { try { for (;;); } catch {} finally { continue; } }`,
    says: /comput|time/i,
  },
];

const AT_ONCE = 4;

describe('hostile code', { timeout: 60_000 }, () => {
  let upstream: ScriptedUpstream;
  let adapter: RunningAdapter;
  let door: Door;
  let neighbour: Door;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    adapter = await startAdapter({
      config: {
        core: { max_start_wait_seconds: 0, upstream_ping: { enabled: false } },
        state_persistence: { type: 'memory' },
        servers: [
          mounted('up', upstream.url, { ...CODE_MODE, upstream: { static_headers: { 'x-secret': '${SECRET}' } } }),
          mounted('other', upstream.url),
        ],
      },
      env: { SECRET, ...WATCHED },
    });
    door = (await openSession(adapter)).at(adapter);
    neighbour = (await openSession(adapter, { path: '/mcp/other' })).at(adapter);
    // What runs for the first time has to be compiled.
    await Promise.all([valueOf(door, `return (await call_tool('echo')).text;`), neighbour.tool('echo')]);
  });
  afterAll(async () => {
    await adapter?.stop();
    await upstream?.close();
  });

  /**
   * Runs code while a neighbour calls a tool of another server, one call after the other. Says how long each waited, and
   * how long the adapter's event loop was kept.
   */
  async function beside<T>(run: () => Promise<T>): Promise<{ value: T; line: string; busy: number; worst: number }> {
    await loopGaps(adapter);
    const over = new AbortController();
    const value = run().finally(() => over.abort());
    const waits: number[] = [];
    do {
      const from = performance.now();
      expect(textOf(await neighbour.tool('echo', { n: waits.length }))).toBe(`{"n":${waits.length}}`);
      waits.push(performance.now() - from);
    } while (!over.signal.aborted);
    const settled = await value;
    const { gap, busy } = await loopGaps(adapter);
    waits.sort((one, other) => one - other);
    const at = (part: number): string => (waits[Math.floor(part * (waits.length - 1))] ?? 0).toFixed(1);
    const line =
      `${waits.length} calls of a neighbour: median ${at(0.5)}, worst ${at(1)} ms; ` +
      `event loop: busy for ${busy.toFixed(1)}, away for ${gap.toFixed(1)} ms at most`;
    return { value: settled, line, busy, worst: waits.at(-1) ?? 0 };
  }

  async function attack({ what, code, says }: Attack): Promise<void> {
    const { value, line, busy } = await beside(() => execute(door, code));
    console.log(`${what}: ${line}\n  ${value.text.slice(0, 200)}`);
    expect(value).toMatchObject({ isError: true, text: expect.stringMatching(says) });
    expect(value.text.length).toBeLessThan(10_000);
    expect(busy).toBeLessThan(MOST_BUSY_MS);
  }

  test.for(GREEDY)('that $what ends with what is wrong', attack);

  test('that never ends is ended, several at once, while others are answered', async () => {
    // Of one session they would be too many; and a machine of one core has room for two at a time.
    const doors = await Promise.all(ENDLESS.map(async () => (await openSession(adapter)).at(adapter)));
    for (let first = 0; first < ENDLESS.length; first += AT_ONCE) {
      const some = ENDLESS.slice(first, first + AT_ONCE);
      const started = performance.now();
      const { value, line, busy } = await beside(() =>
        Promise.all(some.map(({ code }, index) => execute(doors[first + index] ?? door, code))),
      );
      console.log(`${some.length} endless codes in ${((performance.now() - started) / 1000).toFixed(1)} s: ${line}`);
      for (const [index, { what, says }] of some.entries()) {
        expect([what, value[index]]).toEqual([what, { isError: true, text: expect.stringMatching(says), console: '' }]);
      }
      expect(busy).toBeLessThan(MOST_BUSY_MS);
    }
  });

  test('that prints without end is cut, and what it returned is there', async () => {
    const { value, line, busy } = await beside(() =>
      execute(door, `for (let i = 0; i < 2e4; i++) console.log('line', i, 'x'.repeat(100)); return 'over';`),
    );
    console.log(`prints 2 MB: ${line}`);
    expect(value).toMatchObject({ isError: false, text: 'over' });
    expect(value.console).toMatch(/^line 0 x/);
    expect(value.console.length).toBeLessThan(300_000);
    expect(busy).toBeLessThan(MOST_BUSY_MS);
  });

  test('that asks for large results, at once, keeps nobody waiting', async () => {
    const { value, line, busy } = await beside(() =>
      execute(
        door,
        `const sizes = [];
         for (let round = 0; round < 3; round++) {
           const all = await Promise.all([1, 2, 3, 4].map(() => call_tool('big', { bytes: 1000000 })));
           sizes.push(all.reduce((sum, { text }) => sum + text.length, 0));
         }
         return sizes;`,
      ),
    );
    console.log(`12 results of 1 MB: ${line}`);
    expect(parsed(value)).toEqual([4e6, 4e6, 4e6]);
    expect(busy).toBeLessThan(MOST_BUSY_MS);
  });

  test('more of it than may run at a time waits and is refused, others find room, and room comes back', async () => {
    const code = `await call_tool('slow', { key: 'room' }); return 'ran';`;
    const mine = Array.from({ length: 8 }, () => execute(door, code));
    await upstream.waitForRequest(({ text }) => text.includes('"room"'));
    const other = (await openSession(adapter)).at(adapter);
    expect(await valueOf(other, `return 'room';`)).toBe('room');
    const refused = await Promise.race(mine);
    expect(refused).toMatchObject({ isError: true, text: expect.stringContaining('try again later') });
    upstream.release('room');
    const texts = (await Promise.all(mine)).map(({ text }) => text);
    // Half of two to eight.
    expect(texts.filter((text) => text === 'ran').length).toBeGreaterThanOrEqual(1);
    expect(texts.filter((text) => text === 'ran').length).toBeLessThanOrEqual(4);
    expect(new Set(texts)).toEqual(new Set([refused.text, 'ran']));
    expect(await valueOf(door, `return 'again';`)).toBe('again');
  });

  describe('reaches nothing', () => {
    test('of the process it runs in', async () => {
      const names = [
        'process',
        'require',
        'module',
        'global',
        'Buffer',
        'fetch',
        'XMLHttpRequest',
        'WebSocket',
        'Worker',
        'setTimeout',
        'setInterval',
        'setImmediate',
        'queueMicrotask',
        'WebAssembly',
        'SharedArrayBuffer',
        'Atomics',
        'Deno',
        'Bun',
        'std',
        'os',
        'scriptArgs',
        'print',
        'postMessage',
        'structuredClone',
        'navigator',
        'performance',
      ];
      const seen = await valueOf(
        door,
        `const names = ${JSON.stringify(names)};
         const global = (0, eval)('this');
         const made = Function('return this')();
         const up = (async () => {}).constructor('return typeof process')();
         return [names.filter((name) => name in global), global === made, await up, Object.keys(global)];`,
      );
      const [present, , up, keys] = seen as [string[], boolean, string, string[]];
      expect(
        present.filter((name) => !['Atomics', 'SharedArrayBuffer', 'queueMicrotask', 'performance'].includes(name)),
      ).toEqual([]);
      expect(up).toBe('undefined');
      expect(JSON.stringify(keys)).not.toContain('secret');
    });

    test.for([
      `return await import('node:fs');`,
      `return await import('/etc/passwd');`,
      `import fs from 'node:fs'; return 1;`,
      `return call_tool.constructor('return process.env')();`,
      `return console.log.constructor('return process')().env;`,
      `const { constructor } = Object.getPrototypeOf(call_tool('echo')); return new constructor((r) => r(process.env));`,
      `return this.constructor.constructor('return process')().env;`,
    ])('of the machine: %s', async (code) => {
      const { isError, text } = await execute(door, code);
      expect(isError).toBe(true);
      expect(text).not.toContain('root:');
      expect(text).not.toContain(SECRET);
    });

    test('of the files of the machine, by stacks and messages of errors', async () => {
      const { text, console: printed } = await execute(
        door,
        `try { await call_tool('nothing'); } catch (error) { console.log(error.stack, JSON.stringify(error)); }
         try { null.x; } catch (error) { console.log(error.stack); }
         return new Error('x').stack;`,
      );
      expect(`${text}${printed}`).not.toMatch(/file:\/\/|node_modules|\/work|\/app|sandbox-|worker/);
    });

    test('of other code: what one leaves behind the next does not find', async () => {
      await valueOf(
        door,
        `globalThis.left = 1; Object.prototype.left = 2; Array.prototype.map = () => 'mine'; JSON.parse = () => 'mine'; return 1;`,
      );
      const found = await valueOf(
        door,
        `return [typeof left, {}.left ?? null, [1].map((n) => n + 1), JSON.parse('[3]')];`,
      );
      expect(found).toEqual(['undefined', null, [2], [3]]);
    });

    test('of what other servers and sessions have', async () => {
      const { sessionId } = await openSession(adapter);
      const failures = (await valueOf(
        door,
        `const failures = [];
         const calls = [['../other/echo'], ['other_get_upload_url'], ['tools/list'], ['initialize'], ['__proto__'], ['']];
         for (const [name] of calls) {
           try { failures.push([name, await call_tool(name, { session_id: ${JSON.stringify(sessionId)} })]); } catch (error) { failures.push(error.message); }
         }
         return failures;`,
      )) as unknown[];
      for (const failure of failures) expect(failure).toEqual(expect.any(String));
      const sent = upstream.requestsOf('tools/call').slice(-6);
      expect(new Set(sent.map(({ headers }) => headers['mcp-session-id'])).size).toBe(1);
    });

    test('by built-ins that it replaces: what it returns and calls is its own', async () => {
      const said: Said = await execute(
        door,
        `JSON.stringify = () => '{"hacked":true}';
         Object.prototype.toJSON = () => 'hacked';
         Promise.prototype.then = undefined;
         Array.prototype[Symbol.iterator] = undefined;
         return { plain: 1 };`,
      );
      expect(said.text.length).toBeLessThan(500);
      expect(await valueOf(door, 'return { plain: 1 };')).toEqual({ plain: 1 });
    });
  });

  test('leaves the adapter as it was: no error in its log, and its memory given back', async () => {
    const bad = adapter.logs().filter(({ level }) => Number(level) >= 50);
    expect(bad).toEqual([]);
    expect(adapter.stderr()).toBe('');
    const status = await readFile(`/proc/${adapter.pid}/status`, 'utf8');
    const threads = Number(/Threads:\s+(\d+)/.exec(status)?.[1]);
    const resident = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
    console.log(`after all of it: ${threads} threads, ${resident.toFixed(0)} MiB resident`);
    expect(threads).toBeLessThan(40);
  });
});
