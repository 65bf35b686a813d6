import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { needsPromtool } from '../support/promtool/needs-promtool.ts';
import { promtool } from '../support/promtool/promtool.ts';
import { ALERT_CASES } from './alert-cases.ts';
import { ALERTS, readAlerts } from './chart-files.ts';
import { problemsOf } from './problems.ts';

needsPromtool();

const alerts = await readAlerts();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'alerts-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the alerts', () => {
  test('are rules that Prometheus takes', async () => {
    expect(await promtool(['check', 'rules', '--lint=all', '--lint-fatal', ALERTS])).toContain('SUCCESS');
  });

  test('ask only for metrics and labels that there are', async () => {
    expect(await problemsOf(alerts.map(({ alert, expr }) => ({ where: alert, expr })))).toEqual([]);
  });

  test('say only what their series have', async () => {
    const texts = alerts.map(({ alert, expr, annotations }) => ({
      where: alert,
      expr,
      legend: Object.values(annotations)
        .join(' ')
        .replaceAll('$labels.', '')
        .replaceAll(/\{\{ (\w+) \}\}/g, '{{$1}}'),
    }));
    expect(await problemsOf(texts)).toEqual([]);
  });

  // What the pages say, scripts/docs.test.ts looks at.
  test.for(alerts)('$alert has a severity, and leads to its page', ({ alert, labels, annotations }) => {
    expect(Object.keys(annotations).toSorted()).toEqual(['description', 'runbook_url', 'summary']);
    expect(['info', 'warning', 'critical']).toContain(labels['severity']);
    expect(annotations['runbook_url']).toBe(`docs/runbooks/${alert}.md`);
  });

  test('have all been tried', () => {
    expect([...new Set(ALERT_CASES.map(({ alert }) => alert))]).toEqual(alerts.map(({ alert }) => alert));
  });
});

test.for(ALERT_CASES)(
  '$alert is raised when it should be, and only then',
  async ({ alert, after, raised, series, calm }) => {
    const severity = alerts.find((one) => one.alert === alert)?.labels['severity'];
    const labels = Object.entries({ alertname: alert, alertstate: 'firing', ...raised, severity });
    const firing = `ALERTS{${labels.map(([name, value]) => `${name}="${value}"`).join(', ')}}`;
    const when = (given: object, samples: object[]): object => ({
      interval: '1m',
      input_series: Object.entries(given).map(([name, values]) => ({ series: name, values: String(values) })),
      promql_expr_test: [
        { expr: `ALERTS{alertname="${alert}",alertstate="firing"}`, eval_time: `${after}m`, exp_samples: samples },
      ],
    });
    const file = join(folder, `${alert}.yaml`);
    const tests = [when(series, [{ labels: firing, value: 1 }]), when(calm, [])];
    await writeFile(file, stringify({ rule_files: [ALERTS], evaluation_interval: '1m', tests }));
    await expect(promtool(['test', 'rules', file])).resolves.toContain('SUCCESS');
  },
);
