import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { AdapterConfig } from '../config/adapter-file/adapter.ts';
import { bytes } from '../config/values/bytes.ts';
import { maybeEmpty, flag, integer, oneOf, oneOfAnyCase, seconds, text, trimmed } from '../config/values/values.ts';
import { fieldTables } from './field-table.ts';
import { inputSchema } from './json-schema.ts';

const Sample = z
  .strictObject({
    id: trimmed().describe('The id.'),
    size: bytes({ min: 1 }).describe('The size.').nullable().prefault('1Ki'),
    wait: seconds().describe('A | B.').prefault(5),
    retries: integer({ min: 0, max: 5 }).describe('How often.').nullable().prefault(null),
    level: oneOfAnyCase(['low', 'high']).describe('How much.').prefault('low'),
    names: maybeEmpty(z.array(text()).prefault([])).describe('Names.'),
    headers: z.record(z.string(), text()).describe('Headers.').prefault({}),
    inner: maybeEmpty(z.strictObject({ on: flag().describe('Whether.').prefault(true) }).prefault({})).describe(
      'Inside.',
    ),
    entries: z
      .array(
        z.discriminatedUnion('type', [
          z.strictObject({ type: z.literal('a').describe('Type a.'), mode: oneOf(['x', 'y']).describe('Mode.') }),
          z.strictObject({ type: z.literal('b').describe('Type b.') }),
        ]),
      )
      .describe('Entries.'),
  })
  .describe('All of it.');

describe('fieldTables', () => {
  it('renders a section, then the sections inside it', () => {
    expect(fieldTables(inputSchema(Sample), 'sample', 2)).toBe(
      [
        '## `sample`',
        'All of it.',
        [
          '| Field | Type | Default | Allowed | Meaning |',
          '| --- | --- | --- | --- | --- |',
          '| `id` | string | required | not blank | The id. |',
          '| `size` | bytes or null | `"1Ki"` | > 0 | The size. |',
          String.raw`| ${'`wait`'} | number | ${'`5`'} | > 0 | A \| B. |`,
          '| `retries` | integer or null | `null` | 0 to 5 | How often. |',
          '| `level` | string | `"low"` | `low`, `high` | How much. |',
          '| `names` | list of strings | `[]` |  | Names. |',
          '| `headers` | mapping from string to string | `{}` |  | Headers. |',
        ].join('\n'),
        '### `sample.inner`',
        'Inside.',
        [
          '| Field | Type | Default | Allowed | Meaning |',
          '| --- | --- | --- | --- | --- |',
          '| `on` | boolean | `true` |  | Whether. |',
        ].join('\n'),
        '### `sample.entries[]` of type `a`',
        'Entries.',
        [
          '| Field | Type | Default | Allowed | Meaning |',
          '| --- | --- | --- | --- | --- |',
          '| `type` | string | required | `a` | Type a. |',
          '| `mode` | string | required | `x`, `y` | Mode. |',
        ].join('\n'),
        '### `sample.entries[]` of type `b`',
        'Entries.',
        [
          '| Field | Type | Default | Allowed | Meaning |',
          '| --- | --- | --- | --- | --- |',
          '| `type` | string | required | `b` | Type b. |',
        ].join('\n'),
      ].join('\n\n'),
    );
  });

  it('renders choices, maps of other things and kinds outside of a list; a default that is only told is one', () => {
    const kinds = z.discriminatedUnion('type', [z.strictObject({ type: z.literal('a').describe('Type a.') })]);
    const schema = z.strictObject({
      value: z.union([z.int(), z.string()]).nullable().describe('A value.'),
      weights: z.record(z.string(), z.number()).describe('Weights.'),
      rest: z.record(z.string(), z.unknown()).describe('The rest.'),
      port: z.int().optional().describe('The port. Default: 80.'),
      auth: kinds.nullable().prefault(null).describe('Who asks.'),
    });
    const text = fieldTables(inputSchema(schema), 'x', 1);
    expect(text).toContain('| `value` | integer or string or null | required |  | A value. |');
    expect(text).toContain('| `weights` | mapping from string to number | required |  | Weights. |');
    expect(text).toContain('| `rest` | object | required |  | The rest. |');
    expect(text).toContain('| `port` | integer | 80 |  | The port. |');
    expect(text).toContain('## `x.auth` of type `a`\n\nWho asks.');
  });

  it('has a meaning and a default for every field of the adapter', () => {
    const rows = fieldTables(inputSchema(AdapterConfig), 'adapter', 1)
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    expect(rows.length).toBeGreaterThan(150);
    for (const row of rows) {
      const [, , , fallback, , meaning = ''] = row.split(/(?<!\\)\|/).map((cell) => cell.trim());
      expect(fallback, row).not.toBe('');
      expect(meaning, row).toMatch(/\S.*\.$/);
    }
  });
});
