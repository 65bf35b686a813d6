import { describe, expect, test } from 'vitest';
import { needsPromtool } from '../support/promtool/needs-promtool.ts';
import { readDashboards } from './chart-files.ts';
import { Dashboard } from './dashboard-schema.ts';
import { type Expression, problemsOf } from './problems.ts';

needsPromtool();

const dashboards = await readDashboards();

test('there is one for each program', () => {
  expect(dashboards.map(({ name }) => name)).toEqual(['adapter.json', 'operator.json', 'scraper.json']);
});

describe.each(dashboards)('$name', ({ content }) => {
  const dashboard = (): Dashboard => Dashboard.parse(content);

  test('is what Grafana understands', () => {
    expect(Dashboard.safeParse(content).error?.issues ?? []).toEqual([]);
    const ids = dashboard().panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('has no two panels in one place', () => {
    const taken = new Set<string>();
    for (const { title, gridPos } of dashboard().panels) {
      expect([title, gridPos.x + gridPos.w <= 24]).toEqual([title, true]);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect([title, taken.has(`${x},${y}`)]).toEqual([title, false]);
          taken.add(`${x},${y}`);
        }
      }
    }
  });

  test('uses only variables that it has', () => {
    const { templating } = dashboard();
    const names = ['__rate_interval', '__all', ...templating.list.map(({ name }) => name)];
    const used = [...JSON.stringify(content).matchAll(/\$\{?(\w+)/g)].map(([, name]) => name);
    expect(used.filter((name) => name === undefined || !names.includes(name))).toEqual([]);
  });

  test('asks only for metrics and labels that there are', async () => {
    expect(await problemsOf([...expressionsOf(dashboard()), ...variablesOf(dashboard())])).toEqual([]);
  });
});

const expressionsOf = ({ panels }: Dashboard): Expression[] =>
  panels.flatMap((panel) =>
    panel.type === 'row'
      ? []
      : panel.targets.map(({ expr, legendFormat }) => ({ where: panel.title, expr, legend: legendFormat })),
  );

/** `label_values(series, label)` is an aggregation by the label, as far as metrics and labels go. */
const variablesOf = ({ templating }: Dashboard): Expression[] =>
  templating.list.flatMap((variable) => {
    if (variable.type === 'datasource') return [];
    const [, series = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(variable.definition) ?? [];
    return [{ where: `variable ${variable.name}`, expr: `group by (${label}) (${series})` }];
  });
