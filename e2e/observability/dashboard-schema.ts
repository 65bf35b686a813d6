import { z } from 'zod';

/** The part of Grafana's model of dashboards that ours keep to. Anything else is a mistake until it stands here. */

const source = z.strictObject({ type: z.literal('prometheus'), uid: z.literal('${datasource}') });

const gridPos = z.strictObject({
  x: z.int().min(0).max(23),
  y: z.int().min(0),
  w: z.int().min(1).max(24),
  h: z.int().min(1).max(20),
});

const text = z.string().min(1);

const row = z.strictObject({
  id: z.int().min(1),
  type: z.literal('row'),
  title: text,
  collapsed: z.literal(false),
  gridPos,
  panels: z.tuple([]),
});

const target = z.strictObject({
  refId: z.string().regex(/^[A-Z]$/),
  datasource: source,
  expr: text,
  legendFormat: text,
  range: z.literal(true),
});

const color = z.enum(['green', 'orange', 'red']);

const panel = z.strictObject({
  id: z.int().min(1),
  type: z.enum(['timeseries', 'stat', 'state-timeline']),
  title: text,
  description: text.regex(/\.$/),
  datasource: source,
  gridPos,
  fieldConfig: z.strictObject({
    defaults: z.strictObject({
      unit: z.enum(['reqps', 'ops', 'cps', 's', 'bytes', 'Bps', 'percentunit', 'short']),
      min: z.literal(0),
      noValue: z.literal('0'),
      thresholds: z.strictObject({
        mode: z.literal('absolute'),
        steps: z.array(z.strictObject({ color, value: z.number().nullable() })).min(1),
      }),
      mappings: z
        .array(
          z.strictObject({
            type: z.literal('value'),
            options: z.record(z.string().regex(/^\d+$/), z.strictObject({ text, color, index: z.int() })),
          }),
        )
        .optional(),
      custom: z
        .strictObject({ fillOpacity: z.number(), lineWidth: z.number(), showPoints: z.literal('never') })
        .optional(),
    }),
    overrides: z.tuple([]),
  }),
  options: z.record(z.string(), z.unknown()),
  targets: z.array(target).min(1),
});

const variable = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('datasource'),
    name: z.literal('datasource'),
    label: text,
    query: z.literal('prometheus'),
    refresh: z.int(),
    multi: z.literal(false),
    includeAll: z.literal(false),
    current: z.strictObject({}),
    options: z.tuple([]),
  }),
  z.strictObject({
    type: z.literal('query'),
    name: z.string().regex(/^[a-z]+$/),
    label: text,
    datasource: source,
    definition: text,
    query: z.strictObject({ query: text, refId: text }),
    refresh: z.int(),
    sort: z.int(),
    multi: z.literal(true),
    includeAll: z.literal(true),
    allValue: z.literal('.*').optional(),
    current: z.strictObject({ text: z.literal('All'), value: z.literal('$__all') }),
    options: z.tuple([]),
  }),
]);

export const Dashboard = z.strictObject({
  // As long as Grafana allows.
  uid: z.string().regex(/^[\w-]{1,40}$/),
  title: text,
  description: text,
  tags: z.array(text),
  schemaVersion: z.literal(39),
  version: z.int(),
  editable: z.boolean(),
  graphTooltip: z.int().min(0).max(2),
  refresh: z.string().regex(/^\d+[sm]$/),
  timezone: z.literal('browser'),
  time: z.strictObject({ from: text, to: text }),
  annotations: z.strictObject({ list: z.tuple([]) }),
  links: z.array(z.looseObject({ type: z.literal('dashboards'), title: text, tags: z.array(text) })),
  templating: z.strictObject({ list: z.array(variable).min(1) }),
  panels: z.array(z.discriminatedUnion('type', [row, panel])).min(1),
});
export type Dashboard = z.output<typeof Dashboard>;
