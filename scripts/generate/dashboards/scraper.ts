import { NODE_METRICS } from '../../../lib/metrics/node-metrics.ts';
import { SCRAPER_METRICS } from '../../../scraper/output/metric-catalog.ts';
import type { Dashboard, Row } from './layout.ts';
import { graph, number } from './panels.ts';
import { processRow } from './process.ts';
import { PromQl } from './promql.ts';

const TARGETS = ['job=~"$job"', 'source=~"$source"'];
const RUNS = 'scraper_runs_total';
const METRICS = [...Object.entries(SCRAPER_METRICS).map(([name, metric]) => ({ name, ...metric })), ...NODE_METRICS];
const HOUR = '[1h]';

/** Of the scraper: whether sources are scraped, how far behind they are, and what was lost. */
export function scraperDashboard(): Dashboard {
  const of = new PromQl(METRICS, TARGETS);
  const whole = new PromQl(METRICS, ['job=~"$job"']);
  return {
    uid: 'mcp-scraper',
    title: 'API scraper',
    description: 'Runs, windows and records of scrapers, as their self-telemetry tells them.',
    variables: [
      { name: 'job', title: 'Scraper', series: RUNS, label: 'job' },
      { name: 'source', title: 'Source', series: `${RUNS}{job=~"$job"}`, label: 'source', optional: true },
    ],
    rows: [overview(of), runs(of), windows(of), records(of), maintenance(whole), processRow(whole)],
  };
}

const overview = (of: PromQl): Row => ({
  title: 'Overview',
  panels: [
    number('Runs', 'ops', of.rate(RUNS), 'Runs of sources, per second.'),
    number(
      'Failed runs',
      'percentunit',
      of.share(RUNS, ['status="error"']),
      'Share of runs in which something failed.',
      {
        warning: 0.05,
        critical: 0.25,
      },
    ),
    number('Records', 'ops', of.rate('scraper_records_emitted_total'), 'Records that the collector took, per second.'),
    number('Windows that wait', 'short', `sum(${of.series('scraper_windows_open')})`, 'Begun and not committed.'),
    number(
      'Windows set aside',
      'short',
      `sum(${of.series('scraper_windows_dead')})`,
      'Given up after their last attempt.',
      {
        warning: 1,
        critical: 1,
      },
    ),
    number(
      'Refused exports, 1 h',
      'short',
      `sum(increase(${of.series('scraper_export_failures_total')}${HOUR})) or vector(0)`,
      'Exports that the collector did not take.',
      { warning: 1, critical: 20 },
    ),
  ],
});

const runs = (of: PromQl): Row => ({
  title: 'Runs',
  panels: [
    graph(
      'Runs by status',
      'ops',
      [{ expr: of.rate(RUNS, ['status']), legend: '{{status}}' }],
      'A run scrapes the windows of a source that are due.',
    ),
    graph(
      'Failed runs by source',
      'ops',
      [{ expr: of.rate(RUNS, ['source'], ['status="error"']), legend: '{{source}}' }],
      'Runs in which something failed. What failed is tried again.',
    ),
    graph(
      'Duration of the last run',
      's',
      [
        {
          expr: `max by (source) (${of.series('scraper_last_run_duration_seconds')})`,
          legend: '{{source}}',
        },
      ],
      'When it grows beyond the period of its source, runs are left out.',
    ),
    graph(
      'Runs left out',
      'ops',
      [{ expr: of.rate('scraper_runs_skipped_total', ['source']), legend: '{{source}}' }],
      'Runs that were due while the one before them went on.',
    ),
  ],
});

const windows = (of: PromQl): Row => ({
  title: 'Windows of time',
  panels: [
    graph(
      'Attempts that failed',
      'ops',
      [{ expr: of.rate('scraper_windows_failed_total', ['source', 'kind']), legend: '{{source}}: {{kind}}' }],
      'What failed, and of which source.',
    ),
    graph(
      'Windows that wait',
      'short',
      [{ expr: `max by (source) (${of.series('scraper_windows_open')})`, legend: '{{source}}' }],
      'Begun and not committed. When it goes on growing, the source falls behind.',
    ),
    graph(
      'Windows set aside',
      'short',
      [{ expr: `max by (source) (${of.series('scraper_windows_dead')})`, legend: '{{source}}' }],
      'Given up after their last attempt. The admin API can have them tried again.',
    ),
    graph(
      'Given up or sent twice, perhaps',
      'ops',
      [
        { expr: of.rate('scraper_windows_dead_total', ['source']), legend: '{{source}}: set aside' },
        { expr: of.rate('scraper_windows_repeated_total', ['source']), legend: '{{source}}: perhaps twice' },
      ],
      'Windows whose records are missing, and those whose records may have arrived twice.',
    ),
  ],
});

const records = (of: PromQl): Row => ({
  title: 'Records',
  panels: [
    graph(
      'Records by source',
      'ops',
      [{ expr: of.rate('scraper_records_emitted_total', ['source']), legend: '{{source}}' }],
      'Records that the collector has acknowledged.',
    ),
    graph(
      'Known already',
      'percentunit',
      [
        {
          expr: `${of.rate('scraper_dedupe_hits_total', ['source'])} / (${of.rate('scraper_dedupe_total', ['source'])} > 0)`,
          legend: '{{source}}',
        },
      ],
      'Share of the records that had been emitted before and were left out.',
    ),
    graph(
      'Left out by a limit',
      'ops',
      [{ expr: of.rate('scraper_records_left_out_total', ['source']), legend: '{{source}}' }],
      'Records beyond maxRecordsPerScrape.',
    ),
    graph(
      'Not caught up',
      's',
      [
        {
          expr: `sum by (source) (increase(${of.series('scraper_catch_up_skipped_seconds_total')}${HOUR}))`,
          legend: '{{source}}',
        },
      ],
      'Time of outages that was too long ago to be caught up, in the last hour.',
    ),
  ],
});

const maintenance = (whole: PromQl): Row => ({
  title: 'Upkeep',
  panels: [
    graph(
      'Failures of the state store',
      'ops',
      [{ expr: whole.rate('scraper_state_failures_total', ['job']), legend: '{{job}}' }],
      'Without its store a scraper scrapes nothing.',
    ),
    graph(
      'Duration of clean-ups',
      's',
      [
        {
          expr: `max by (job, backend) (${whole.series('scraper_cleanup_last_duration_seconds')})`,
          legend: '{{job}}: {{backend}}',
        },
      ],
      'How long it took to remove fingerprints that have expired.',
    ),
  ],
});
