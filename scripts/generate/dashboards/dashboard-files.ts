import { adapterDashboard } from './adapter.ts';
import { laidOut } from './layout.ts';
import { operatorDashboard } from './operator.ts';
import { scraperDashboard } from './scraper.ts';

/** Grafana's dashboards of the chart, by their paths. */
export function dashboardFiles(): Record<string, string> {
  const dashboards = { adapter: adapterDashboard(), scraper: scraperDashboard(), operator: operatorDashboard() };
  return Object.fromEntries(
    Object.entries(dashboards).map(([name, dashboard]) => [
      `helm/mcp-operator/dashboards/${name}.json`,
      `${JSON.stringify(laidOut(dashboard), null, 2)}\n`,
    ]),
  );
}
