import {
  type GrafanaDashboard,
  grafanaPanel,
  grafanaRow,
  labelVariable,
  type Panel,
  type Place,
  SOURCE_VARIABLE,
} from './grafana.ts';

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface Variable {
  readonly name: string;
  readonly title: string;
  /** Series whose label it offers. */
  readonly series: string;
  readonly label: string;
  /** Whether some series lack the label, and are shown all the same. */
  readonly optional?: boolean;
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly variables: readonly Variable[];
  readonly rows: readonly Row[];
}

const WIDTH = 24;
const TAG = 'mcp-adapter';
/** Numbers stand beside each other, six to a line; of the others, two do. */
const SIZES = { number: { w: 4, h: 4 }, graph: { w: 12, h: 8 }, states: { w: 12, h: 8 } } as const;

/** The dashboard in Grafana's model, with each panel in its place. */
export function laidOut({ uid, title, description, variables, rows }: Dashboard): GrafanaDashboard {
  const panels: object[] = [];
  let y = 0;
  for (const row of rows) {
    panels.push(grafanaRow(row.title, panels.length + 1, y));
    const { places, height } = placesOf(row.panels, y + 1);
    for (const [index, panel] of row.panels.entries()) {
      const place = places[index];
      if (place !== undefined) panels.push(grafanaPanel(panel, panels.length + 1, place));
    }
    y += 1 + height;
  }
  return {
    uid,
    title,
    description,
    tags: [TAG],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    timezone: 'browser',
    time: { from: 'now-6h', to: 'now' },
    annotations: { list: [] },
    links: [{ type: 'dashboards', title: 'Others', tags: [TAG], asDropdown: true, includeVars: false, keepTime: true }],
    templating: {
      list: [
        SOURCE_VARIABLE,
        ...variables.map(({ name, title: shown, series, label, optional = false }) =>
          labelVariable(name, shown, series, label, optional),
        ),
      ],
    },
    panels,
  };
}

function placesOf(panels: readonly Panel[], top: number): { places: Place[]; height: number } {
  let x = 0;
  let y = top;
  let h = 0;
  const places = panels.map(({ kind }) => {
    const size = SIZES[kind];
    if (x + size.w > WIDTH) {
      x = 0;
      y += h;
      h = 0;
    }
    const place = { x, y, ...size };
    x += size.w;
    h = Math.max(h, size.h);
    return place;
  });
  return { places, height: y + h - top };
}
