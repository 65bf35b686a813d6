/** What the chart brings for Prometheus and Grafana. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';

const CHART = join(import.meta.dirname, '../../helm/mcp-operator');
export const ALERTS = join(CHART, 'files/alerts.yaml');
const DASHBOARDS = join(CHART, 'dashboards');

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export async function readAlerts(): Promise<Alert[]> {
  const { groups } = parse(await readFile(ALERTS, 'utf8')) as { groups: { rules: Alert[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

export interface DashboardFile {
  readonly name: string;
  readonly content: unknown;
}

export async function readDashboards(): Promise<DashboardFile[]> {
  const names = (await readdir(DASHBOARDS)).toSorted();
  return await Promise.all(
    names.map(async (name) => ({
      name,
      content: JSON.parse(await readFile(join(DASHBOARDS, name), 'utf8')) as unknown,
    })),
  );
}
