import { Script } from 'node:vm';

import { describe, expect, test } from 'vitest';

import { readCodeArguments } from '../code-arguments.ts';
import { CODE_TOOLS, codeToolDefinitions, codeToolName } from './definitions.ts';
import { sampleTools } from '../testing/sample-tools.ts';

interface Definition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: {
    readonly properties: Record<string, { readonly default?: unknown; readonly enum?: readonly string[] }>;
    readonly required?: readonly string[];
    readonly additionalProperties: boolean;
  };
  readonly annotations?: object;
}

const limits = { calls: 100, totalMs: 120_000, outputBytes: 256 * 1024 };
const definitions = codeToolDefinitions('github_server', limits);
const parsed = definitions.map(({ tool, definition }) => ({ tool, ...(JSON.parse(definition) as Definition) }));

test('five tools stand for all others, under names of their server', () => {
  expect(parsed.map(({ name }) => name)).toEqual(CODE_TOOLS.map((tool) => `github_server_${tool}`));
  expect(definitions.map(({ name }) => name)).toEqual(CODE_TOOLS.map((tool) => codeToolName('github_server', tool)));
});

test('they are small: less than a tenth of what two hundred tools take', () => {
  const bytes = Buffer.byteLength(definitions.map(({ definition }) => definition).join(','));
  const ofMany = Buffer.byteLength(
    Array.from({ length: 5 }, () => sampleTools)
      .flat()
      .join(','),
  );
  expect(bytes).toBeLessThan(4_000);
  expect(bytes / ofMany).toBeLessThan(0.1);
});

test('they lead from one to the next', () => {
  const [search, , , list, execute] = parsed.map(({ description }) => description);
  expect(search).toMatch(/github_server_get_schema.*github_server_execute/s);
  expect(list).toContain('github_server_search');
  expect(execute).toContain('call_tool(name, args)');
  expect(execute).toMatch(/At most 100 calls, 120 s, 256 KiB/);
});

test('the example that models follow is valid code', () => {
  const example = parsed.at(-1)?.description.split('Example:\n')[1] ?? '';
  expect(example.split('\n')).toHaveLength(4);
  expect(() => new Script(`async (call_tool) => { ${example} }`)).not.toThrow();
});

test('discovery only reads; of code nothing is claimed', () => {
  expect(parsed.map(({ annotations }) => annotations)).toEqual([
    ...Array.from({ length: 4 }, () => ({ readOnlyHint: true })),
    undefined,
  ]);
});

describe.each(parsed)(
  'what $name takes is what it says',
  ({ tool, inputSchema: { properties, required = [], ...schema } }) => {
    const sample: Record<string, unknown> = { query: 'x', tags: ['x'], tools: ['x'], code: 'x', limit: 5 };
    const complete = Object.fromEntries(required.map((name) => [name, sample[name]]));

    test('with everything required, and the same defaults', () => {
      const read = readCodeArguments(tool, complete);
      if (!read.ok) throw new Error(read.problem);
      for (const [name, { default: byDefault }] of Object.entries(properties)) {
        if (byDefault !== undefined) expect(read.args).toHaveProperty(name, byDefault);
      }
    });

    test('each of its properties, with each of its values', () => {
      for (const [name, { enum: values }] of Object.entries(properties)) {
        for (const value of values ?? [sample[name]]) {
          expect(readCodeArguments(tool, { ...complete, [name]: value })).toMatchObject({ ok: true });
        }
        if (values !== undefined)
          expect(readCodeArguments(tool, { ...complete, [name]: 'x' })).toMatchObject({ ok: false });
      }
    });

    test('nothing else, and nothing less', () => {
      expect(schema.additionalProperties).toBe(false);
      expect(readCodeArguments(tool, { ...complete, other: 1 })).toMatchObject({ ok: false });
      for (const name of required) {
        const { [name]: _, ...less } = complete;
        expect(readCodeArguments(tool, less)).toMatchObject({ ok: false });
      }
    });

    test('null for what is left out', () => {
      const optional = Object.keys(properties).filter((name) => !required.includes(name));
      const nulls = Object.fromEntries(optional.map((name) => [name, null]));
      expect(readCodeArguments(tool, { ...complete, ...nulls })).toEqual(readCodeArguments(tool, complete));
    });
  },
);
