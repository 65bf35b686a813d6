import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, expect } from 'vitest';
import { parse as parseYaml, stringify } from 'yaml';
import { needsPromtool } from '../support/promtool/needs-promtool.ts';
import { promtool } from '../support/promtool/promtool.ts';
import { CHART, type Rendered, test } from './render.ts';

needsPromtool();

interface Rules {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}
interface Rule {
  readonly alert: string;
  readonly annotations: { readonly runbook_url: string };
}

const rulesIn = (objects: readonly Rendered[]): Rules | undefined =>
  objects.find(({ kind }) => kind === 'PrometheusRule')?.['spec'] as Rules | undefined;

describe('the PrometheusRule of the chart', () => {
  test('is not there unless it is asked for', async ({ helm }) => {
    expect(rulesIn(await helm.objects())).toBeUndefined();
  });

  test('has all alerts, which promtool takes', async ({ helm }) => {
    const rules = rulesIn(await helm.objects({ prometheusRules: { enabled: true, labels: { release: 'kps' } } }));
    expect(rules).toEqual(parseYaml(await readFile(join(CHART, 'files/alerts.yaml'), 'utf8')));
    expect(await promtool(['check', 'rules'], stringify(rules))).toContain('SUCCESS');
  });

  test('leads to where the pages can be read, and leaves out what is not wanted', async ({ helm }) => {
    const url = 'https://docs.example.com/docs/runbooks/{alert}.html';
    const disabled = ['McpAdapterToolsChanged'];
    const rules = rulesIn(await helm.objects({ prometheusRules: { enabled: true, runbookUrl: url, disabled } }));
    const all = (rules?.groups ?? []).flatMap((group) => group.rules);
    expect(all.length).toBeGreaterThan(20);
    for (const { alert, annotations } of all) {
      expect(annotations.runbook_url).toBe(`https://docs.example.com/docs/runbooks/${alert}.html`);
    }
    expect(all.map(({ alert }) => alert)).not.toContain('McpAdapterToolsChanged');
  });

  test('refuses an address without a place for the name of the alert', async ({ helm }) => {
    const values = { prometheusRules: { enabled: true, runbookUrl: 'https://docs.example.com/docs/runbooks/' } };
    await expect(helm.template(values)).rejects.toThrow('runbookUrl');
  });
});

test('the dashboards are ConfigMaps that the sidecar of Grafana finds', async ({ helm }) => {
  const found = async (values: object): Promise<Rendered[]> =>
    (await helm.objects(values)).filter(
      ({ kind, metadata }) => kind === 'ConfigMap' && /dashboard/.test(metadata.name),
    );
  expect(await found({})).toEqual([]);
  const maps = await found({ dashboards: { enabled: true, annotations: { grafana_folder: 'MCP' } } });
  expect(maps.map(({ metadata }) => metadata.name)).toEqual([
    'mcp-operator-dashboard-adapter',
    'mcp-operator-dashboard-operator',
    'mcp-operator-dashboard-scraper',
  ]);
  for (const map of maps) {
    expect(map.metadata).toMatchObject({
      labels: { grafana_dashboard: '1' },
      annotations: { grafana_folder: 'MCP' },
    });
    for (const [name, text] of Object.entries(map['data'] as Record<string, string>)) {
      const file = basename(name).replace(/^mcp-/, '');
      expect(JSON.parse(text)).toEqual(JSON.parse(await readFile(join(CHART, 'dashboards', file), 'utf8')));
    }
  }
});
