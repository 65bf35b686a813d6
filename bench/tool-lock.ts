/**
 * What a tool lock costs a list: CPU time for each tool of a list of 1,000, each of 2 KB, that is compared with its lock,
 * when all is as it was and when every tool has changed; that of making the lock; and that of JSON.parse, to compare.
 * Usage: node bench/tool-lock.ts
 */
import { compareServer } from '../adapter/lock/compare.ts';
import { makeLock } from '../adapter/lock/make-lock.ts';
import type { ServerLists } from '../adapter/lock/server-lists.ts';

const TOOLS = 1_000;
const TOOL_CHARS = 2_000;
const ROUNDS = 15;
/** Until V8 has compiled what is measured. */
const WARM_UP = 10;

/** A definition as frameworks write them: five parameters, members not in the order of their names. */
function tool(index: number): string {
  const parameter = (name: string): object => ({
    type: 'string',
    title: name,
    description: `What ${name} of the thing number ${index} is wanted, in a sentence of some words.`,
    minLength: 1,
    maxLength: 255,
    default: '',
  });
  const names = ['query', 'where', 'order', 'format', 'language'];
  const definition = {
    name: `tool_${index}`,
    title: `Tool ${index}`,
    description: '',
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, parameter(name)])),
      required: ['query'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    _meta: { 'example.org/owner': 'team' },
  };
  const missing = TOOL_CHARS - JSON.stringify(definition).length;
  return JSON.stringify({ ...definition, description: 'Finds what is there. '.repeat(TOOL_CHARS).slice(0, missing) });
}

/** Microseconds of CPU for each tool. */
function cost(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / TOOLS;
}

const lists = (tools: readonly string[]): ServerLists => {
  return { tools, prompts: [], resourceTemplates: [], instructions: undefined };
};
const texts = Array.from({ length: TOOLS }, (_, index) => tool(index));
const [same, changed] = [lists(texts), lists(texts.map((text) => text.replace('Finds', 'finds')))];
const { lock } = makeLock(same);
const works: readonly (readonly [string, () => void])[] = [
  ['compared, the same', () => void compareServer(same, lock)],
  ['compared, all changed', () => void compareServer(changed, lock)],
  ['locked', () => void makeLock(same)],
  ['JSON.parse', () => texts.forEach((text) => void JSON.parse(text))],
];
const samples = works.map(([name, work]) => ({ name, work, costs: [] as number[] }));
for (let round = -WARM_UP; round < ROUNDS; round++) {
  for (const { work, costs } of samples) {
    const micros = cost(work);
    if (round >= 0) costs.push(micros);
  }
}
for (const { name, costs } of samples) {
  const [least, ...more] = costs.toSorted((a, b) => a - b);
  const [median, most] = [more[(costs.length >> 1) - 1] ?? 0, more.at(-1) ?? 0];
  console.log(`${name}: ${median.toFixed(1)} µs a tool (${least?.toFixed(1)} to ${most.toFixed(1)})`);
}
