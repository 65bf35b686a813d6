import type { Row } from './layout.ts';
import { graph } from './panels.ts';
import type { PromQl } from './promql.ts';

export const sessions = (of: PromQl, whole: PromQl): Row => ({
  title: 'Sessions',
  panels: [
    graph(
      'Open sessions',
      'short',
      [{ expr: `max by (job) (${whole.series('adapter_sessions_active')})`, legend: '{{job}}' }],
      'Sessions that are open, for each adapter.',
    ),
    graph(
      'Beginnings and ends',
      'ops',
      [{ expr: of.rate('adapter_sessions_lifecycle_total', ['event']), legend: '{{event}}' }],
      'What became of sessions.',
    ),
  ],
});

export const files = (of: PromQl, whole: PromQl): Row => ({
  title: 'Files',
  panels: [
    graph(
      'Bytes in and out',
      'Bps',
      [
        { expr: of.rate('adapter_upload_bytes_total'), legend: 'uploads' },
        { expr: of.rate('adapter_artifact_download_bytes_total'), legend: 'downloads' },
      ],
      'Bytes of uploads and of downloads.',
    ),
    graph(
      'Uploads',
      'ops',
      [
        { expr: of.rate('adapter_upload_files_total'), legend: 'files' },
        { expr: of.rate('adapter_upload_failures_total', ['reason']), legend: '{{reason}}' },
      ],
      'Files that came, and uploads that failed, by the reason.',
    ),
    graph(
      'Downloads',
      'ops',
      [{ expr: of.rate('adapter_artifact_downloads_total', ['result']), legend: '{{result}}' }],
      'Downloads by what became of them.',
    ),
    graph(
      'Stored',
      'bytes',
      [{ expr: `max by (job, kind) (${whole.series('adapter_stored_bytes')})`, legend: '{{job}}: {{kind}}' }],
      'Files that are there.',
    ),
    graph(
      'Artifacts',
      'ops',
      [
        { expr: of.rate('adapter_artifacts_total'), legend: 'artifacts' },
        { expr: of.rate('adapter_artifact_failures_total', ['reason']), legend: '{{reason}}' },
      ],
      'Files of tools that became artifacts, and those that did not, by the reason.',
    ),
    graph(
      'Files that were removed',
      'ops',
      [{ expr: whole.rate('adapter_files_removed_total', ['kind', 'reason']), legend: '{{kind}}: {{reason}}' }],
      'Uploads and artifacts that went, by the reason: expired, evicted to make room, or with their session.',
    ),
  ],
});

export const maintenance = (whole: PromQl): Row => ({
  title: 'State and maintenance',
  panels: [
    graph(
      'Changes of the state store',
      'ops',
      [
        {
          expr: whole.rate('adapter_persistence_policy_transitions_total', ['action', 'configured_backend']),
          legend: '{{configured_backend}}: {{action}}',
        },
      ],
      'What the adapter did when its store failed or came back.',
    ),
    graph(
      'Held for others',
      'bytes',
      [
        { expr: `sum by (kind) (${whole.series('adapter_held_bytes')})`, legend: '{{kind}}' },
        { expr: `sum(${whole.series('adapter_held_bytes_limit')})`, legend: 'limit' },
      ],
      'What replicas keep of requests, answers and streams until it may leave; at the limit, requests get 503.',
    ),
    graph(
      'Clean-ups',
      'ops',
      [{ expr: whole.rate('adapter_cleanup_cycles_total', ['status']), legend: '{{status}}' }],
      'Rounds that remove what has expired.',
    ),
    graph(
      'Removed',
      'ops',
      [{ expr: whole.rate('adapter_cleanup_removed_records_total', ['bucket']), legend: '{{bucket}}' }],
      'Records that clean-ups removed.',
    ),
    graph(
      'Telemetry that was dropped',
      'ops',
      [{ expr: whole.rate('adapter_telemetry_dropped_total', ['signal', 'reason']), legend: '{{signal}}: {{reason}}' }],
      'Events, log records and spans that no collector got.',
    ),
  ],
});
