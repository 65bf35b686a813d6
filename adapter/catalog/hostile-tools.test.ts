import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { ToolDescriptionPolicy, ToolMetadataSanitization } from '../../crds/config/adapter-file/core.ts';
import { applyDescriptionPolicy } from './description-policy.ts';
import { sanitizeDefinition } from './sanitization.ts';
import { cpuMillis } from './testing/cpu-millis.ts';
import { goldenText } from './testing/golden-text.ts';
import { hostileTools } from './testing/hostile-tools.ts';
import { outline } from './testing/outline.ts';
import { mayHoldUnseen } from './visible-text.ts';

const GOLDEN = join(import.meta.dirname, 'testing', 'golden');
/** For each definition, with each mode: 36 ms on one machine, 89 on another, and more beside other suites. */
const MOST_MILLIS = 200;
const SANITIZATIONS = (['off', 'sanitize', 'block'] as const).map((mode) => ToolMetadataSanitization.parse({ mode }));
// Shorter than the defaults, so that small texts are cut too.
const POLICIES = (['preserve', 'truncate', 'strip'] as const).map((mode) =>
  ToolDescriptionPolicy.parse({ mode, max_tool_description_chars: 24, max_schema_description_chars: 16 }),
);
const [, SANITIZE = expect.fail()] = SANITIZATIONS;
const [, TRUNCATE = expect.fail()] = POLICIES;

/** Has no use in any writing. The ranges are those of the Unicode charts. */
const ALWAYS_BAD =
  // oxlint-disable-next-line no-control-regex
  /[\0-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF]|[\u{E0100}-\u{E01EF}]/u;

/** What became of a definition with one mode of sanitisation, and then with every mode of the description policy. */
interface Sanitized extends ReturnType<typeof sanitizeDefinition> {
  readonly mode: ToolMetadataSanitization['mode'];
  readonly shown: readonly { readonly mode: ToolDescriptionPolicy['mode']; readonly text: string }[];
  /** Milliseconds of the processor: the sanitisation, and the policy that took longest. */
  readonly millis: number;
}

function timed<T>(run: () => T): readonly [result: T, millis: number] {
  let result: T | undefined;
  const millis = cpuMillis(Number.POSITIVE_INFINITY, () => (result = run()));
  return [result as T, millis];
}

/** Made once for each definition: some of them are a megabyte, and take a while. */
const sanitized = (tool: string): Sanitized[] =>
  SANITIZATIONS.map((rules) => {
    const [result, ofResult] = timed(() => sanitizeDefinition(tool, rules));
    const policies = POLICIES.map((policy) => timed(() => applyDescriptionPolicy(result.text, policy)));
    const shown = POLICIES.map(({ mode }, index) => ({ mode, text: policies[index]?.[0] ?? expect.fail() }));
    const millis = ofResult + Math.max(...policies.map(([, ofPolicy]) => ofPolicy));
    return { ...result, mode: rules.mode, shown, millis };
  });

/** The most that is done with a definition in one mode. */
function again(tool: string, mode: ToolMetadataSanitization['mode']): void {
  const { text } = sanitizeDefinition(tool, ToolMetadataSanitization.parse({ mode }));
  for (const policy of POLICIES) applyDescriptionPolicy(text, policy);
}

function golden(tool: string, results: readonly Sanitized[]): string {
  const lines = ['given', `  ${goldenText(tool)}`];
  for (const { mode, modified, isUnfit, shown } of results) {
    lines.push('', modified.length === 0 ? mode : `${mode}: ${modified.map(goldenText).join(', ')}`);
    if (isUnfit || (mode === 'block' && modified.length > 0)) {
      lines.push('  hidden');
      continue;
    }
    for (const policy of shown) {
      lines.push(`  ${policy.mode.padEnd(8)}  ${policy.text === tool ? 'as given' : goldenText(policy.text)}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

test('there are at least 60 hostile definitions, and each golden file belongs to one', () => {
  expect(hostileTools.size).toBeGreaterThanOrEqual(60);
  expect(new Set(readdirSync(GOLDEN))).toEqual(new Set(Array.from(hostileTools.keys(), (id) => `${id}.txt`)));
});

describe.each([...hostileTools])('%s', (id, tool) => {
  let results: readonly Sanitized[] = [];
  beforeAll(() => {
    results = sanitized(tool);
  });
  afterAll(() => {
    results = [];
  });
  const clean = (): Sanitized => results.find(({ mode }) => mode === 'sanitize') ?? expect.fail();

  test('becomes what its golden file says', async () => {
    await expect(golden(tool, results)).toMatchFileSnapshot(join(GOLDEN, `${id}.txt`));
  });

  test('stays what it was but for its texts, and for data that nobody sees', () => {
    const before = outline(tool);
    const holdsUnseen = mayHoldUnseen(before.rest);
    const kept = results.filter(({ mode }) => mode === 'off' || !holdsUnseen);
    for (const text of new Set(kept.flatMap(({ shown }) => shown.map((policy) => policy.text)))) {
      expect(outline(text).rest).toBe(before.rest);
    }
  });

  test('T10: has nothing that nobody sees, or is hidden', () => {
    const { shown, isUnfit } = clean();
    if (isUnfit || !tool.trimStart().startsWith('{')) return;
    for (const { text } of shown) expect(text).not.toMatch(ALWAYS_BAD);
  });

  test('is clean after one time', () => {
    const { text, isUnfit } = clean();
    if (isUnfit) return;
    const again = sanitizeDefinition(text, SANITIZE);
    expect(again.text).toBe(text);
    expect(again.modified.filter((path) => path !== 'name')).toEqual([]);
    for (const one of outline(text).texts) {
      expect(one).not.toMatch(ALWAYS_BAD);
      expect(Array.from(one).length).toBeLessThanOrEqual(2000);
    }
  });

  test(`takes no more than ${MOST_MILLIS} ms`, () => {
    for (const { mode, millis } of results) {
      // Once and cold it may take longer, while garbage is collected.
      const least = millis < MOST_MILLIS ? millis : cpuMillis(MOST_MILLIS, () => again(tool, mode));
      expect(least, mode).toBeLessThan(MOST_MILLIS);
    }
  });
});

test('a list of 200 ordinary tools takes less than 10 ms', () => {
  const tool = (i: number): string =>
    JSON.stringify({
      name: `tool_${i}`,
      title: `Tool ${i}`,
      description: 'Reads a file and says what is in it. '.repeat(4),
      inputSchema: {
        type: 'object',
        properties: Object.fromEntries(
          ['path', 'encoding', 'lines'].map((name) => [name, { type: 'string', description: `The ${name} to use.` }]),
        ),
        required: ['path'],
      },
    });
  const tools = Array.from({ length: 200 }, (_, i) => tool(i));
  expect(tools.join('').length).toBeGreaterThan(80_000);
  const millis = cpuMillis(10, () => {
    for (const one of tools) applyDescriptionPolicy(sanitizeDefinition(one, SANITIZE).text, TRUNCATE);
  });
  expect(millis).toBeLessThan(10);
});
