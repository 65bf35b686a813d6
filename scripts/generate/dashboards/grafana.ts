/** The parts of Grafana's JSON model of dashboards that ours are made of. */

export interface GrafanaDashboard {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly schemaVersion: number;
  readonly version: number;
  readonly editable: boolean;
  readonly graphTooltip: number;
  readonly refresh: string;
  readonly timezone: string;
  readonly time: { readonly from: string; readonly to: string };
  readonly annotations: { readonly list: readonly [] };
  readonly links: readonly object[];
  readonly templating: { readonly list: readonly object[] };
  readonly panels: readonly object[];
}

/** Names a data source that is chosen at the top of the dashboard. */
const SOURCE = { type: 'prometheus', uid: '${datasource}' } as const;

/** Units of Grafana. */
export type Unit = 'reqps' | 'ops' | 'cps' | 's' | 'bytes' | 'Bps' | 'percentunit' | 'short';

export interface Target {
  readonly expr: string;
  /** `{{label}}` stands for its value. */
  readonly legend: string;
}

/** Below the first value all is well. */
export interface Limits {
  readonly warning: number;
  readonly critical: number;
}

export interface Panel {
  readonly kind: 'graph' | 'number' | 'states';
  readonly title: string;
  /** What it shows, and what it means when it rises. */
  readonly description: string;
  readonly unit: Unit;
  readonly targets: readonly Target[];
  readonly limits?: Limits;
  /** Names and colours of values. */
  readonly values?: Readonly<Record<number, { readonly text: string; readonly color: string }>>;
}

export interface Place {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export function grafanaPanel(panel: Panel, id: number, gridPos: Place): object {
  const { title, description, unit, limits, values } = panel;
  return {
    id,
    type: TYPES[panel.kind],
    title,
    description,
    datasource: SOURCE,
    gridPos,
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        noValue: '0',
        thresholds: thresholds(limits),
        ...(values === undefined ? {} : { mappings: mappings(values) }),
        ...(panel.kind === 'graph' ? { custom: { fillOpacity: 10, lineWidth: 1, showPoints: 'never' } } : {}),
      },
      overrides: [],
    },
    options: OPTIONS[panel.kind],
    targets: panel.targets.map(({ expr, legend }, place) => ({
      refId: String.fromCodePoint('A'.codePointAt(0)! + place),
      datasource: SOURCE,
      expr,
      legendFormat: legend,
      range: true,
    })),
  };
}

export const grafanaRow = (title: string, id: number, y: number): object => ({
  id,
  type: 'row',
  title,
  collapsed: false,
  gridPos: { x: 0, y, w: 24, h: 1 },
  panels: [],
});

/**
 * Chosen at the top: the values of a label, one, several or all.
 * @param optional whether series without the label are among all of them
 */
export const labelVariable = (
  name: string,
  label: string,
  series: string,
  ofLabel: string,
  optional: boolean,
): object => ({
  type: 'query',
  name,
  label,
  datasource: SOURCE,
  definition: `label_values(${series}, ${ofLabel})`,
  query: { query: `label_values(${series}, ${ofLabel})`, refId: name },
  refresh: 2,
  sort: 1,
  multi: true,
  includeAll: true,
  ...(optional ? { allValue: '.*' } : {}),
  current: { text: 'All', value: '$__all' },
  options: [],
});

export const SOURCE_VARIABLE = {
  type: 'datasource',
  name: 'datasource',
  label: 'Data source',
  query: 'prometheus',
  refresh: 1,
  multi: false,
  includeAll: false,
  current: {},
  options: [],
} as const;

const TYPES = { graph: 'timeseries', number: 'stat', states: 'state-timeline' } as const;

const OPTIONS = {
  graph: {
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
  number: {
    colorMode: 'value',
    graphMode: 'area',
    justifyMode: 'auto',
    orientation: 'auto',
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
    textMode: 'auto',
  },
  states: {
    alignValue: 'left',
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
    mergeValues: true,
    rowHeight: 0.9,
    showValue: 'auto',
    tooltip: { mode: 'single', sort: 'none' },
  },
} as const;

function thresholds(limits: Limits | undefined): object {
  const fine = { color: 'green', value: null };
  const steps =
    limits === undefined
      ? [fine]
      : [fine, { color: 'orange', value: limits.warning }, { color: 'red', value: limits.critical }];
  return { mode: 'absolute', steps };
}

const mappings = (values: NonNullable<Panel['values']>): object[] => [
  {
    type: 'value',
    options: Object.fromEntries(Object.entries(values).map(([value, shown], index) => [value, { ...shown, index }])),
  },
];
