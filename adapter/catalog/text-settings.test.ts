import { expect, test } from 'vitest';

import { effectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import { load, sampleWith } from '../../crds/config/testing/adapter-config.ts';
import { applyDescriptionPolicy } from './description-policy.ts';
import { sanitizeDefinition } from './sanitization.ts';

const PROBE = JSON.stringify({
  name: 't',
  title: 'T\u200B \uFF21bcdefgh',
  description: 'D\u200B \uFF21bcdefgh',
  inputSchema: { title: 'S\u200B \uFF21bcdefgh', description: 'P\u200B \uFF21bcdefgh' },
});

interface Shown {
  readonly title: string;
  readonly description?: string;
  readonly inputSchema: { readonly title: string; readonly description?: string };
}

/** What becomes of the probe with these settings, by their path in the adapter's file. */
function shownWith(settings: Record<string, unknown>): Shown | 'hidden' {
  const config = load(sampleWith(settings));
  const server = effectiveServer(config, config.servers[0] ?? expect.fail('no server'));
  const rules = server.tool_metadata_sanitization;
  const { text, modified } = sanitizeDefinition(PROBE, rules);
  if (rules.mode === 'block' && modified.length > 0) return 'hidden';
  return JSON.parse(applyDescriptionPolicy(text, server.tool_description_policy)) as Shown;
}

const texts = (shown: Shown | 'hidden'): unknown =>
  shown === 'hidden' ? shown : [shown.title, shown.description, shown.inputSchema.title, shown.inputSchema.description];

const CUT = { 'core.tool_description_policy.mode': 'truncate' };
const RAW = ' \uFF21bcdefgh';
const CLEAN = ' Abcdefgh';
const clean = [`T${CLEAN}`, `D${CLEAN}`, `S${CLEAN}`, `P${CLEAN}`];
const raw = [`T\u200B${RAW}`, `D\u200B${RAW}`, `S\u200B${RAW}`, `P\u200B${RAW}`];

interface Field {
  readonly field: string;
  /** Two values, each with the texts that are shown with it. */
  readonly values: readonly [readonly [unknown, unknown], readonly [unknown, unknown]];
  /** What else is set. */
  readonly beside: Record<string, unknown>;
}

const field = (field: string, one: Field['values'][0], two: Field['values'][1], beside = {}): Field => ({
  field,
  values: [one, two],
  beside,
});
const [title, description, schemaTitle, schemaDescription] = clean;
const CAPS_OF_5 = {
  'core.tool_description_policy.max_tool_description_chars': 5,
  'core.tool_description_policy.max_schema_description_chars': 5,
};

const FIELDS: readonly Field[] = [
  field('tool_metadata_sanitization.mode', ['sanitize', clean], ['off', raw]),
  field('tool_metadata_sanitization.mode', ['off', raw], ['block', 'hidden']),
  field(
    'tool_metadata_sanitization.normalize_unicode',
    [true, clean],
    [false, [`T${RAW}`, `D${RAW}`, `S${RAW}`, `P${RAW}`]],
  ),
  field(
    'tool_metadata_sanitization.remove_invisible_characters',
    [true, clean],
    [false, [`T\u200B${CLEAN}`, `D\u200B${CLEAN}`, `S\u200B${CLEAN}`, `P\u200B${CLEAN}`]],
  ),
  field(
    'tool_metadata_sanitization.max_tool_title_chars',
    [5, ['T ...', description, schemaTitle, schemaDescription]],
    [9, ['T Abcd...', description, schemaTitle, schemaDescription]],
  ),
  field(
    'tool_metadata_sanitization.max_tool_description_chars',
    [5, [title, 'D ...', schemaTitle, schemaDescription]],
    [9, [title, 'D Abcd...', schemaTitle, schemaDescription]],
  ),
  field(
    'tool_metadata_sanitization.max_schema_text_chars',
    [5, [title, description, 'S ...', 'P ...']],
    [9, [title, description, 'S Abcd...', 'P Abcd...']],
  ),
  field(
    'tool_description_policy.mode',
    ['preserve', clean],
    ['strip', [title, undefined, schemaTitle, undefined]],
    CAPS_OF_5,
  ),
  field(
    'tool_description_policy.mode',
    ['strip', [title, undefined, schemaTitle, undefined]],
    ['truncate', [title, 'D ...', schemaTitle, 'P ...']],
    CAPS_OF_5,
  ),
  field(
    'tool_description_policy.max_tool_description_chars',
    [5, [title, 'D ...', schemaTitle, schemaDescription]],
    [9, [title, 'D Abcd...', schemaTitle, schemaDescription]],
    CUT,
  ),
  field(
    'tool_description_policy.max_schema_description_chars',
    [5, [title, description, schemaTitle, 'P ...']],
    [9, [title, description, schemaTitle, 'P Abcd...']],
    CUT,
  ),
];

test.each(FIELDS.map((one) => [one.field, one.values[0][0], one.values[1][0], one] as const))(
  '%s: %j and %j, in core and at the server',
  (_, _one, _two, { field, values, beside }) => {
    const [core, server] = [`core.${field}`, `servers[0].${field}`];
    const shown = (settings: Record<string, unknown>): unknown => texts(shownWith({ ...beside, ...settings }));
    const [[one, withOne], [two, withTwo]] = values;
    expect(shown({ [core]: one })).toEqual(withOne);
    expect(shown({ [core]: two })).toEqual(withTwo);
    expect(shown({ [core]: one, [server]: two })).toEqual(withTwo);
    expect(shown({ [core]: two, [server]: one })).toEqual(withOne);
    // Null at the server means what core says.
    expect(shown({ [core]: one, [server]: null })).toEqual(withOne);
    expect(shown({ [core]: two, [server]: null })).toEqual(withTwo);
  },
);

test.each([
  ['core.tool_metadata_sanitization.max_tool_title_chars', {}],
  ['core.tool_metadata_sanitization.max_tool_description_chars', {}],
  ['core.tool_metadata_sanitization.max_schema_text_chars', {}],
  ['core.tool_description_policy.max_tool_description_chars', CUT],
  ['core.tool_description_policy.max_schema_description_chars', CUT],
])('null in %s is no cap', (field, beside) => {
  const shown = (max: number | null): unknown => texts(shownWith({ ...beside, [field]: max }));
  expect(shown(1)).not.toEqual(clean);
  expect(shown(null)).toEqual(clean);
});
