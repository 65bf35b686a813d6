import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

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

/** Has no use in any writing. The ranges are those of the Unicode charts. */
const ALWAYS_BAD =
  // oxlint-disable-next-line no-control-regex
  /[\0-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF]|[\u{E0100}-\u{E01EF}]/u;

/** What becomes of a definition with every mode of sanitisation and every mode of the description policy. */
function golden(tool: string): string {
  const lines = ['given', `  ${goldenText(tool)}`];
  for (const rules of SANITIZATIONS) {
    const { text, modified, isUnfit } = sanitizeDefinition(tool, rules);
    lines.push('', modified.length === 0 ? rules.mode : `${rules.mode}: ${modified.map(goldenText).join(', ')}`);
    if (isUnfit || (rules.mode === 'block' && modified.length > 0)) {
      lines.push('  hidden');
      continue;
    }
    for (const policy of POLICIES) {
      const shown = applyDescriptionPolicy(text, policy);
      lines.push(`  ${policy.mode.padEnd(8)}  ${shown === tool ? 'as given' : goldenText(shown)}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

test('there are at least 60 hostile definitions, and each golden file belongs to one', () => {
  expect(hostileTools.size).toBeGreaterThanOrEqual(60);
  expect(new Set(readdirSync(GOLDEN))).toEqual(new Set(Array.from(hostileTools.keys(), (id) => `${id}.txt`)));
});

describe.each([...hostileTools])('%s', (id, tool) => {
  test('becomes what its golden file says', async () => {
    await expect(golden(tool)).toMatchFileSnapshot(join(GOLDEN, `${id}.txt`));
  });

  test('stays what it was but for its texts, and for data that nobody sees', () => {
    const before = outline(tool);
    const holdsUnseen = mayHoldUnseen(before.rest);
    for (const rules of SANITIZATIONS) {
      const { text } = sanitizeDefinition(tool, rules);
      for (const policy of POLICIES) {
        const after = outline(applyDescriptionPolicy(text, policy));
        if (rules.mode === 'off' || !holdsUnseen) expect(after.rest).toBe(before.rest);
      }
    }
  });

  test('T10: has nothing that nobody sees, or is hidden', () => {
    const { text, isUnfit } = sanitizeDefinition(tool, SANITIZE);
    if (isUnfit || !tool.trimStart().startsWith('{')) return;
    for (const mode of POLICIES) expect(applyDescriptionPolicy(text, mode)).not.toMatch(ALWAYS_BAD);
  });

  test('is clean after one time', () => {
    const { text, isUnfit } = sanitizeDefinition(tool, SANITIZE);
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
    for (const rules of SANITIZATIONS) {
      for (const policy of POLICIES) {
        const millis = cpuMillis(MOST_MILLIS, () =>
          applyDescriptionPolicy(sanitizeDefinition(tool, rules).text, policy),
        );
        expect(millis, `${rules.mode}, ${policy.mode}`).toBeLessThan(MOST_MILLIS);
      }
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
  const truncate = POLICIES[1] ?? expect.fail();
  const millis = cpuMillis(10, () => {
    for (const one of tools) applyDescriptionPolicy(sanitizeDefinition(one, SANITIZE).text, truncate);
  });
  expect(millis).toBeLessThan(10);
});
