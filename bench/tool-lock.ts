/**
 * What a tool lock costs on the path of messages: CPU time of a list of 204 tools that comes again, with a lock and without, and
 * of looking whether a tool may be called. And what it costs where a list is new: CPU time for each tool of a list of 1,000, each of 2 KB, that is compared with its lock,
 * when all is as it was and when every tool has changed; that of making the lock; and that of JSON.parse, to compare.
 * Usage: node bench/tool-lock.ts
 */
import { Caches } from '../adapter/caches.ts';
import { catalog } from '../adapter/catalog/catalog.ts';
import { disabledTools } from '../adapter/catalog/disabled-tools.ts';
import { LockWatch } from '../adapter/lock/lock-watch.ts';
import { ServerToolLock } from '../adapter/lock/server-tool-lock.ts';
import { ToolLock } from '../adapter/lock/tool-lock.ts';
import { sessionRecord } from '../adapter/sessions/testing/session-record.ts';
import type { ToolSource } from '../adapter/tools/tool-source.ts';
import { VisibleCatalog } from '../adapter/tools/visible/visible-catalog.ts';
import { LockDocument } from '../crds/config/lock-file/lock-document.ts';
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

const LISTED = 204;
const TIMES = 2_000;
const caches = new Caches();
const few = texts.slice(0, LISTED);
const result = `{"tools":[${few.join(',')}]}`;
const record = sessionRecord({});
// Everything is known after the first list: the upstream is asked for nothing.
const source = {
  signal: new AbortController().signal,
  access: undefined,
  clientKey: '',
  timeoutOf: () => null,
  request: () => ({ inventory: { saw: () => undefined } }),
} as unknown as ToolSource;
const toolLock = new ToolLock(LockDocument.parse({ servers: { up: makeLock(lists(few)).lock } }));
const serverLock = new ServerToolLock(toolLock, 'up', {
  caches,
  watch: new LockWatch({ onDrift: () => undefined, allowsNew: () => false }),
});
const [plain, locked] = [undefined, serverLock].map(
  (own) =>
    new VisibleCatalog({
      catalog: catalog({ disabled: disabledTools(['hidden'], false) }),
      caches,
      pinning: { mode: 'off', block_strategy: 'error', block_error_session_action: 'keep', sessionless_ttl_seconds: 1 },
      lock: own,
      blocks: false,
      ttlMs: 3_600_000,
      onCleaned: undefined,
      onDrift: undefined,
    }),
) as [VisibleCatalog, VisibleCatalog];

async function micros(times: number, work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  for (let i = 0; i < times; i++) await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
const costs = { plain: [] as number[], locked: [] as number[], call: [] as number[], none: [] as number[] };
for (let round = -3; round < ROUNDS; round++) {
  const costsOfRound = {
    plain: await micros(TIMES, () => plain.shown(source, record, result, 'first')),
    locked: await micros(TIMES, () => locked.shown(source, record, result, 'first')),
    call: await micros(TIMES * 10, () => locked.checkCalls(source, record, ['tool_7'])),
    none: await micros(TIMES * 10, () => plain.checkCalls(source, record, ['tool_7'])),
  };
  if (round < 0) continue;
  for (const name of ['plain', 'locked', 'call', 'none'] as const) costs[name].push(costsOfRound[name]);
}
caches.stop();
const [list, withLock, call, none] = [costs.plain, costs.locked, costs.call, costs.none].map(median) as [
  number,
  number,
  number,
  number,
];
console.log(
  `list of ${LISTED} tools again: ${list.toFixed(0)} µs, with a lock ${withLock.toFixed(0)} µs: ${(withLock / list).toFixed(3)} x`,
);
console.log(`call of a tool: ${(call - none).toFixed(2)} µs more with a lock`);
