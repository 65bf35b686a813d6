import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeAll, describe, expect, test } from 'vitest';

import { answerDiscovery } from '../discovery.ts';
import { ToolIndex } from './tool-index.ts';

let seed = 1;
const random = (): number => (seed = (seed * 48_271) % 2_147_483_647);
/** All texts of three letters: the index of a test has half a million words. */
const TRIPLES = Array.from({ length: 26 ** 3 }, (_, i) =>
  String.fromCharCode(...[i, i / 26, i / 26 ** 2].map((part) => 97 + (Math.trunc(part) % 26))),
);
const triple = (): string => TRIPLES[random() % TRIPLES.length] ?? expect.fail();
const word = (start: string): string => start + triple() + triple() + triple();
function words(count: number, start: string): string {
  let text = word(start);
  for (let i = 1; i < count; i++) text += ` ${word(start)}`;
  return text;
}

/** The processor's time of the longest part that nobody else gets a turn in, and of all, in milliseconds; and the answer. */
function run(steps: ReturnType<typeof answerDiscovery>): { longest: number; all: number; turns: number; text: string } {
  let [longest, all, turns] = [0, 0, 0];
  for (;;) {
    const before = process.threadCpuUsage();
    const step = steps.next();
    const { user, system } = process.threadCpuUsage(before);
    const ms = (user + system) / 1000;
    longest = Math.max(longest, ms);
    all += ms;
    turns++;
    if (step.done === true) return { longest, all, turns, text: step.value.text };
  }
}

// The words of an upstream: all different, or all with one beginning, so that each of them may be meant.
describe.each([
  ['different words', ''],
  ['words of one beginning', 'abc'],
])('H4 T17: of 3,000 tools with %s,', (_, start) => {
  let index: ToolIndex;
  beforeAll(async () => {
    const tools = Array.from({ length: 3_000 }, (_tool, i) =>
      JSON.stringify({ name: `${words(3, start).replaceAll(' ', '_')}_${i}`, description: words(60, start) }),
    );
    index = await ToolIndex.of(tools, undefined, nextTurn);
  }, 60_000);

  test.each([
    ['get_schema', () => ({ tools: Array.from({ length: 40 }, () => words(24, start)) })],
    ['search', () => ({ query: words(24, start) })],
    ['search', () => ({ query: 'abc abca abcb abcc delete a tool' })],
  ] as const)('no answer of %s keeps others from their turn', (tool, args) => {
    const { longest, all, text } = run(answerDiscovery(tool, args(), index));
    // Without a budget it is seconds.
    expect(longest).toBeLessThan(300);
    expect(all).toBeLessThan(3_000);
    expect(text).not.toBe('');
  });

  test('names like the unknown ones are looked for until the budget is spent, the same each time', () => {
    // The first word of a name, but for its last letter, and many that no tool has.
    const nearly = index.tools.slice(0, 40).map(({ name }) => name.split('_')[0]?.slice(0, -1) ?? '');
    const args = { tools: nearly.map((one) => `${one} ${words(20, start)}`) };
    const { text } = run(answerDiscovery('get_schema', args, index));
    const similar = text.split('\n').map((line) => line.includes('(similar: '));
    // A heading, the names, and how many more there are.
    expect(similar[1]).toBe(true);
    expect(similar.slice(12)).not.toContain(true);
    expect(run(answerDiscovery('get_schema', args, index)).text).toBe(text);
  });
});

test('a word with a typing error is looked for in names only', () => {
  const index = new ToolIndex([
    '{"name":"take_screenshot"}',
    '{"name":"other","title":"Calendar","description":"Calendar"}',
  ]);
  expect(run(answerDiscovery('search', { query: 'screnshot' }, index)).text).toContain('take_screenshot');
  expect(run(answerDiscovery('search', { query: 'calender' }, index)).text).toContain('No tool matches');
});

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
setFlagsFromString('--no-expose-gc');
const inUse = (): number => {
  collect();
  return process.memoryUsage().heapUsed;
};

test.each([
  ['words', (i: number) => ({ name: `tool_${i}`, description: words(180, '') })],
  ['names', (i: number) => ({ name: words(180, '').replaceAll(' ', '_'), description: `${i}` })],
  ['tags', (i: number) => ({ name: `tool_${i}`, _meta: { tags: words(50, '').split(' ') } })],
  ['values', (i: number) => ({ name: `tool_${i}`, inputSchema: { x: Array.from({ length: 500 }, () => [i]) } })],
])(
  'H4: an index of 3,000 tools takes little memory beside the texts of their different %s',
  async (_, tool) => {
    const texts = Array.from({ length: 3_000 }, (_tool, i) => JSON.stringify(tool(i)));
    const chars = texts.reduce((sum, { length }) => sum + length, 0);
    const before = inUse();
    const index = await ToolIndex.of(texts, undefined, nextTurn);
    const took = inUse() - before;
    expect(took).toBeLessThan(16 << 20);
    // What caches count it for.
    expect(took).toBeLessThan(index.size);
    expect(index.size).toBeLessThan(3 * chars + (10 << 20));
    expect(run(answerDiscovery('get_schema', { tools: [index.tools.at(-1)?.name] }, index)).text).not.toContain(
      'Not found',
    );
  },
  60_000,
);
