import type { Limits, Panel, Target, Unit } from './grafana.ts';

export const graph = (title: string, unit: Unit, targets: readonly Target[], description: string): Panel => ({
  kind: 'graph',
  title,
  unit,
  targets,
  description,
});

export const number = (title: string, unit: Unit, expr: string, description: string, limits?: Limits): Panel => ({
  kind: 'number',
  title,
  unit,
  targets: [{ expr, legend: title }],
  description,
  ...(limits === undefined ? {} : { limits }),
});

export const states = (
  title: string,
  expr: string,
  legend: string,
  values: NonNullable<Panel['values']>,
  description: string,
): Panel => ({ kind: 'states', title, unit: 'short', targets: [{ expr, legend }], values, description });
