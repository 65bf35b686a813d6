import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { failedOf } from '../../support/balancer.ts';
import type { Answers, RealClient } from '../../support/real-client.ts';
import { connectV1 } from '../../support/real-client-v1.ts';
import { connectV2 } from '../../support/real-client-v2.ts';
import { startEverythingServer, startPlaywrightServer } from '../../support/real-servers.ts';
import { mounted } from '../kit/deployment.ts';
import { startTestPage, type TestPage } from '../real-servers/test-page.ts';
import { CODE_MODE, codeTools, namesOf, parsed, type Said, saidBy } from './kit/code.ts';
import { type Replicas, startReplicas } from './kit/replicas.ts';

const CONNECT = { v1: connectV1, v2: connectV2 };
const ANSWERS: Answers = {
  sampling: 'an answer of the model',
  elicitation: { action: 'accept', content: { name: 'Ada Lovelace', check: true, integer: 42, petType: 'pet-2' } },
  roots: [],
};

describe('published servers in code mode, behind three replicas', { timeout: 60_000 }, () => {
  const started = new AsyncDisposableStack();
  let page: TestPage;
  let replicas: Replicas;

  beforeAll(async () => {
    page = started.use(await startTestPage());
    const [everything, old, browser] = await Promise.all([
      startEverythingServer('streamable_http'),
      startEverythingServer('sse'),
      startPlaywrightServer('streamable_http'),
    ]);
    started.use(everything);
    started.use(old);
    started.use(browser);
    // A browser takes its time to start on a busy machine.
    const patient = { ...CODE_MODE, tool_defaults: { tool_call_timeout_seconds: 120 } };
    const servers = [
      mounted('everything', everything.url, CODE_MODE),
      mounted('old', old.url, { ...CODE_MODE, upstream: { transport: 'sse' } }),
      mounted('browser', browser.url, patient),
    ];
    replicas = started.use(await startReplicas({ servers }));
  });
  afterAll(() => started.disposeAsync());

  describe.for(['v1', 'v2'] as const)('SDK %s', (sdk) => {
    const open = (server: string): Promise<RealClient> =>
      CONNECT[sdk]({ url: `${replicas.balancer.url}/mcp/${server}`, transport: 'streamable_http', answers: ANSWERS });

    describe('server-everything', () => {
      let client: RealClient;
      beforeAll(async () => {
        client = await open('everything');
      });
      afterAll(() => client?.close());

      const ask = async (tool: string, args: Record<string, unknown>): Promise<Said> =>
        saidBy(await client.callTool(`everything_${tool}`, args));
      const run = (code: string): Promise<Said> => ask('execute', { code });

      test('is five tools', async () => {
        expect(namesOf(await client.request('tools/list'))).toEqual(codeTools('everything'));
      });

      test('is searched, described and listed', async () => {
        const found = await ask('search', { query: 'add two numbers' });
        expect(found).toMatchObject({ isError: false, text: expect.stringMatching(/^- get-sum: /m) });
        const schema = await ask('get_schema', { tools: ['get-sum', 'get-summ'] });
        expect(schema.text).toMatch(/get-sum[^]*\ba\b[^]*number[^]*\bb\b[^]*Not found[^]*get-summ/);
        const listed = await ask('list_tools', {});
        for (const name of ['echo', 'get-structured-content']) expect(listed.text).toContain(`- ${name}: `);
        expect((await ask('tags', {})).text).toContain('untagged');
        expect(await ask('search', { query: 7 })).toMatchObject({ isError: true });
      });

      test('is run: calls in a row, whose results come as text and as data', async () => {
        const said = await run(`
          const echo = await call_tool('echo', { message: 'Grüße, 世界 🌍' });
          const sum = await call_tool('get-sum', { a: 2, b: echo.text.length });
          const weather = await call_tool('get-structured-content', { location: 'Chicago' });
          console.log('asked for', weather.structuredContent);
          return { echo: echo.text, sum: sum.text, degrees: weather.structuredContent.temperature };`);
        expect(parsed(said)).toEqual({
          echo: 'Echo: Grüße, 世界 🌍',
          sum: 'The sum of 2 and 18 is 20.',
          degrees: 36,
        });
        expect(said.console).toMatch(/^asked for \{"temperature":36,/);
      });

      test('is run: calls at the same time', async () => {
        const said = await run(`
          const all = await Promise.all([...Array(20).keys()].map((n) => call_tool('get-sum', { a: n, b: n })));
          return all.map(({ text }) => Number(/is (\\d+)/.exec(text)[1]));`);
        expect(parsed(said)).toEqual(Array.from({ length: 20 }, (_, n) => 2 * n));
      });

      test('is run: blocks that are no text come as they are', async () => {
        const said = await run(`
          const { content, text, structuredContent } = await call_tool('get-tiny-image');
          return [content.map(({ type, mimeType }) => mimeType ?? type), typeof structuredContent, text.split('\\n').length];`);
        expect(parsed(said)).toEqual([['text', 'image/png', 'text'], 'undefined', 2]);
      });

      test('throws in the code where a tool fails, and goes on', async () => {
        const said = await run(`
          const failures = [];
          const attempts = [['get-sum', { a: '1' }], ['no-such-tool'], ['everything_execute', { code: '' }], [7], ['echo', 'x']];
          for (const [name, args] of attempts) {
            try {
              await call_tool(name, args);
            } catch (error) {
              failures.push([error instanceof Error, error.message]);
            }
          }
          return failures;`);
        expect(parsed(said)).toEqual([
          [true, expect.stringContaining('Invalid arguments')],
          [true, expect.stringContaining('no-such-tool')],
          [true, 'everything_execute cannot be called by code that it runs.'],
          [true, expect.stringContaining('the name must be a string')],
          [true, expect.stringContaining('the arguments must be an object')],
        ]);
      });

      test.for([
        ['a syntax error', 'const a = 1;\nconst b = ;\nreturn a;', /line 2/],
        [
          'an error of its own',
          "const a = 1;\n\nthrow new TypeError('on purpose');",
          /TypeError: on purpose[^]*line 3/,
        ],
        ['a value that is none', '\nundefined.x;', /TypeError[^]*line 2/],
        ['a tool that fails', "\n\n\nawait call_tool('no-such-tool');", /no-such-tool[^]*line 4/],
      ] as const)('says the line of %s', async ([, code, message]) => {
        expect(await run(code)).toMatchObject({ isError: true, text: expect.stringMatching(message) });
      });

      test('asks the user and the model while it runs code', async () => {
        const said = await run(`
          const sampled = await call_tool('trigger-sampling-request', { prompt: 'Hello' });
          const asked = await call_tool('trigger-elicitation-request');
          return [sampled.text, asked.text];`);
        const [sampled, asked] = parsed(said) as string[];
        expect(sampled).toContain('an answer of the model');
        expect(asked).toContain('Name: Ada Lovelace');
      });

      test('is called directly all the same', async () => {
        expect(saidBy(await client.callTool('echo', { message: 'x' }))).toMatchObject({ text: 'Echo: x' });
      });
    });

    test('a server of the transport before this one is searched, run and heard', async () => {
      await using client = await open('old');
      expect(namesOf(await client.request('tools/list'))).toEqual(codeTools('old'));
      const found = saidBy(await client.callTool('old_search', { query: 'add two numbers' }));
      expect(found.text).toMatch(/^- get-sum: /m);
      const said = saidBy(
        await client.callTool('old_execute', {
          code: `
            const [first, second] = await Promise.all([call_tool('get-sum', { a: 1, b: 2 }), call_tool('get-sum', { a: 3, b: 4 })]);
            const sampled = await call_tool('trigger-sampling-request', { prompt: 'Hello' });
            return [first.text, second.text, sampled.text];`,
        }),
      );
      expect(parsed(said)).toEqual([
        'The sum of 1 and 2 is 3.',
        'The sum of 3 and 4 is 7.',
        expect.stringContaining('an answer of the model'),
      ]);
    });

    test('a browser is searched and driven by one piece of code', async () => {
      await using client = await open('browser');
      expect(namesOf(await client.request('tools/list'))).toEqual(codeTools('browser'));
      const found = saidBy(await client.callTool('browser_search', { query: 'type text into a field' }));
      expect(found.text).toContain('- browser_type: ');
      const said = saidBy(
        await client.callTool('browser_execute', {
          code: `
            await call_tool('browser_navigate', { url: ${JSON.stringify(page.url)} });
            await call_tool('browser_type', { element: 'Name', target: 'input', text: 'Ada, Grüße 🌍' });
            await call_tool('browser_click', { element: 'Greet', target: 'button' });
            const shown = await call_tool('browser_evaluate', { function: "() => document.querySelector('p').textContent" });
            let missing;
            try {
              await call_tool('browser_click', { element: 'None', target: '#none' });
            } catch (error) {
              missing = error.message;
            }
            const { text } = await call_tool('browser_snapshot');
            return { shown: shown.text, missing, snapshot: text };`,
        }),
      );
      expect(parsed(said)).toEqual({
        shown: expect.stringContaining('Hello, Ada, Grüße 🌍!'),
        missing: expect.stringContaining('#none'),
        snapshot: expect.stringContaining('Hello, Ada, Grüße 🌍!'),
      });
    });
  });

  test('all replicas had a part in this, and none failed', () => {
    const { requests, targets } = replicas.balancer;
    expect(new Set(requests.map(({ target }) => target)).size).toBe(targets.length);
    expect(failedOf(requests)).toEqual([]);
  });
});
