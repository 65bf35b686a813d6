/** Series with which an alert is raised, and series with which it is not. Values stand one minute apart. */

export interface AlertCase {
  readonly alert: string;
  /** Minutes after which it is looked at. */
  readonly after: number;
  /** Labels of the alert that is raised. */
  readonly raised: Readonly<Record<string, string>>;
  readonly series: Readonly<Record<string, string>>;
  /** All is well, or not yet bad enough. */
  readonly calm: Readonly<Record<string, string>>;
}

const job = 'tools';
const server = { job, server_id: 'docs' };
const at = '{job="tools",server_id="docs"}';
const source = { job: 'scraper', source: 'orders' };
const of = '{job="scraper",source="orders"}';
const operator = '{job="mcp-operator"}';

export const ALERT_CASES: readonly AlertCase[] = [
  {
    alert: 'McpAdapterUpstreamDown',
    after: 5,
    raised: server,
    series: { [`adapter_upstream_circuit_breaker_state${at}`]: '0 2x10' },
    calm: { [`adapter_upstream_circuit_breaker_state${at}`]: '2 1x10' },
  },
  {
    // By the name that it has when it came over OTLP.
    alert: 'McpAdapterUpstreamDown',
    after: 5,
    raised: server,
    series: { [`adapter_upstream_circuit_breaker_state_ratio${at}`]: '2x10' },
    calm: { [`adapter_upstream_circuit_breaker_state_ratio${at}`]: '0x10' },
  },
  {
    alert: 'McpAdapterServersNotReady',
    after: 20,
    raised: { job },
    series: { 'adapter_adapter_wiring_not_ready_servers{job="tools",server_id="global"}': '2x30' },
    calm: { 'adapter_adapter_wiring_not_ready_servers{job="tools",server_id="global"}': '2x10 0x20' },
  },
  {
    alert: 'McpAdapterRequestsFailing',
    after: 25,
    raised: { job },
    series: {
      'adapter_http_requests_total{job="tools",http_response_status_class="2xx"}': '0+90x30',
      'adapter_http_requests_total{job="tools",http_response_status_class="5xx"}': '0+10x30',
    },
    calm: {
      'adapter_http_requests_total{job="tools",http_response_status_class="2xx"}': '0+98x30',
      'adapter_http_requests_total{job="tools",http_response_status_class="5xx"}': '0+2x30',
      // The operator and probes ask for health.
      'adapter_http_requests_total{job="tools",adapter_route_group="/healthz",http_response_status_class="5xx"}':
        '0+50x30',
      // One failure of few requests is nothing to be woken for.
      'adapter_http_requests_total{job="idle",http_response_status_class="5xx"}': '0 1x30',
    },
  },
  {
    alert: 'McpAdapterToolCallsFailing',
    after: 30,
    raised: server,
    series: {
      'adapter_upstream_tool_calls_total{job="tools",server_id="docs",result="success"}': '0+6x40',
      'adapter_upstream_tool_calls_total{job="tools",server_id="docs",result="error"}': '0+2x40',
      'adapter_upstream_tool_calls_total{job="tools",server_id="docs",result="timeout"}': '0+2x40',
    },
    calm: {
      'adapter_upstream_tool_calls_total{job="tools",server_id="docs",result="success"}': '0+9x40',
      'adapter_upstream_tool_calls_total{job="tools",server_id="docs",result="error"}': '0+1x40',
    },
  },
  {
    // The first time that it happens makes the series, so that it never rises.
    alert: 'McpAdapterStateStoreFailing',
    after: 25,
    raised: { job, configured_backend: 'redis' },
    series: {
      'adapter_persistence_policy_transitions_total{job="tools",configured_backend="redis",action="activate_fail_closed"}':
        '_x19 1x20',
    },
    calm: {
      'adapter_persistence_policy_transitions_total{job="tools",configured_backend="redis",action="recover"}':
        '_x19 1x20',
      'adapter_persistence_policy_transitions_total{job="tools",configured_backend="disk",action="exit"}': '1x40',
    },
  },
  {
    alert: 'McpAdapterLimitsReached',
    after: 25,
    raised: server,
    series: {
      'adapter_request_rejections_total{job="tools",server_id="docs",http_response_status_code="429"}': '0+30x30',
    },
    calm: {
      'adapter_request_rejections_total{job="tools",server_id="docs",http_response_status_code="429"}': '0+3x30',
      'adapter_request_rejections_total{job="tools",server_id="docs",http_response_status_code="503"}': '0+30x30',
    },
  },
  {
    alert: 'McpAdapterCredentialsRefused',
    after: 25,
    raised: { job, reason: 'invalid_adapter_auth_token' },
    series: { 'adapter_auth_rejections_total{job="tools",reason="invalid_adapter_auth_token"}': '0+120x30' },
    calm: { 'adapter_auth_rejections_total{job="tools",reason="invalid_adapter_auth_token"}': '0+30x30' },
  },
  {
    alert: 'McpAdapterUploadsFailing',
    after: 30,
    raised: server,
    series: { 'adapter_upload_failures_total{job="tools",server_id="docs",reason="fail_closed"}': '0+1x40' },
    calm: { 'adapter_upload_failures_total{job="tools",server_id="docs",reason="no_file_parts"}': '0+1x40' },
  },
  {
    alert: 'McpAdapterToolsChanged',
    after: 25,
    raised: { ...server, outcome: 'warn' },
    series: { 'adapter_tool_definition_drift_total{job="tools",server_id="docs",outcome="warn"}': '_x19 1x20' },
    calm: { 'adapter_tool_definition_drift_total{job="tools",server_id="docs",outcome="warn"}': '3x40' },
  },
  {
    alert: 'McpAdapterCleanupFailing',
    after: 50,
    raised: { job },
    series: { 'adapter_cleanup_cycles_total{job="tools",status="error"}': '0+1x60' },
    calm: {
      'adapter_cleanup_cycles_total{job="tools",status="error"}': '0+1x60',
      'adapter_cleanup_cycles_total{job="tools",status="ok"}': '0+1x60',
    },
  },
  {
    alert: 'McpAdapterEventLoopBlocked',
    after: 15,
    raised: { job, instance: 'a' },
    series: {
      'nodejs_eventloop_delay_p99{job="tools",instance="a"}': '0.4x20',
      'adapter_telemetry_queue_depth{job="tools",instance="a"}': '0x20',
    },
    calm: {
      'nodejs_eventloop_delay_p99{job="tools",instance="a"}': '0.02x20',
      'adapter_telemetry_queue_depth{job="tools",instance="a"}': '0x20',
      // Of another program.
      'nodejs_eventloop_delay_p99{job="shop",instance="b"}': '3x20',
    },
  },
  {
    alert: 'McpAdapterTelemetryDropped',
    after: 25,
    raised: { job, signal: 'logs', reason: 'queue_full' },
    series: { 'adapter_telemetry_dropped_total{job="tools",signal="logs",reason="queue_full"}': '0+5x30' },
    calm: { 'adapter_telemetry_dropped_total{job="tools",signal="logs",reason="queue_full"}': '7x30' },
  },
  {
    alert: 'McpOperatorNotLeading',
    after: 10,
    raised: {},
    series: { [`mcp_operator_leader${operator}`]: '0x20' },
    calm: { [`mcp_operator_leader${operator}`]: '1x20', 'mcp_operator_leader{job="mcp-operator",pod="b"}': '0x20' },
  },
  {
    alert: 'McpOperatorReconcilesFailing',
    after: 30,
    raised: { job: 'mcp-operator', controller: 'mcp-adapter' },
    series: {
      'mcp_operator_reconciles_total{job="mcp-operator",controller="mcp-adapter",outcome="done"}': '0+5x40',
      'mcp_operator_reconciles_total{job="mcp-operator",controller="mcp-adapter",outcome="failed"}': '0+5x40',
    },
    calm: {
      'mcp_operator_reconciles_total{job="mcp-operator",controller="mcp-adapter",outcome="done"}': '0+9x40',
      'mcp_operator_reconciles_total{job="mcp-operator",controller="mcp-adapter",outcome="failed"}': '0+1x40',
    },
  },
  {
    alert: 'McpOperatorQueueStuck',
    after: 40,
    raised: { job: 'mcp-operator', controller: 'mcp-adapter' },
    series: { 'mcp_operator_queue_depth{job="mcp-operator",controller="mcp-adapter"}': '30x60' },
    calm: { 'mcp_operator_queue_depth{job="mcp-operator",controller="mcp-adapter"}': '90x35 0 90x30' },
  },
  {
    alert: 'McpOperatorApiErrors',
    after: 30,
    raised: { job: 'mcp-operator' },
    series: {
      'mcp_operator_api_requests_total{job="mcp-operator",code="200"}': '0+50x40',
      'mcp_operator_api_requests_total{job="mcp-operator",code="403"}': '0+5x40',
    },
    calm: {
      'mcp_operator_api_requests_total{job="mcp-operator",code="200"}': '0+50x40',
      // Somebody else was faster, which happens.
      'mcp_operator_api_requests_total{job="mcp-operator",code="409"}': '0+5x40',
    },
  },
  {
    alert: 'McpOperatorCrdOutdated',
    after: 20,
    raised: { job: 'mcp-operator', kind: 'McpAdapter' },
    series: {
      'mcp_operator_resources{job="mcp-operator",kind="McpAdapter",condition="CrdCurrent",status="False"}': '1x30',
    },
    calm: {
      'mcp_operator_resources{job="mcp-operator",kind="McpAdapter",condition="CrdCurrent",status="False"}': '0x30',
      'mcp_operator_resources{job="mcp-operator",kind="McpAdapter",condition="CrdCurrent",status="True"}': '1x30',
    },
  },
  {
    alert: 'McpResourcesNotAccepted',
    after: 20,
    raised: { job: 'mcp-operator', kind: 'McpAdapter' },
    series: {
      'mcp_operator_resources{job="mcp-operator",kind="McpAdapter",condition="Accepted",status="False"}': '2x30',
    },
    calm: {
      'mcp_operator_resources{job="mcp-operator",kind="McpAdapter",condition="Accepted",status="False"}': '1x10 0x20',
    },
  },
  {
    alert: 'McpResourcesNotReady',
    after: 20,
    raised: { job: 'mcp-operator', kind: 'McpAdapter' },
    series: { 'mcp_operator_resources{job="mcp-operator",kind="McpAdapter",condition="Ready",status="False"}': '1x30' },
    calm: { 'mcp_operator_resources{job="mcp-operator",kind="McpAdapter",condition="Ready",status="Unknown"}': '1x30' },
  },
  {
    alert: 'McpToolsDrift',
    after: 5,
    raised: { job: 'mcp-operator', kind: 'McpAdapter' },
    series: {
      'mcp_operator_resources{job="mcp-operator",kind="McpAdapter",condition="ToolsMatchLock",status="False"}': '2x10',
    },
    calm: {
      'mcp_operator_resources{job="mcp-operator",kind="McpAdapter",condition="ToolsMatchLock",status="False"}': '0x10',
      'mcp_operator_resources{job="mcp-operator",kind="McpAdapter",condition="ToolsMatchLock",status="Unknown"}':
        '1x10',
    },
  },
  {
    alert: 'ApiScraperSourceFailing',
    after: 50,
    raised: source,
    series: { 'scraper_runs_total{job="scraper",source="orders",status="error"}': '0+1x60' },
    calm: {
      'scraper_runs_total{job="scraper",source="orders",status="error"}': '0+1x60',
      'scraper_runs_total{job="scraper",source="orders",status="success"}': '0+1x60',
    },
  },
  {
    alert: 'ApiScraperWindowsDead',
    after: 10,
    raised: source,
    series: { [`scraper_windows_dead_ratio${of}`]: '1x20' },
    calm: { [`scraper_windows_dead_ratio${of}`]: '0x20' },
  },
  {
    alert: 'ApiScraperFallingBehind',
    after: 40,
    raised: source,
    series: { [`scraper_windows_open_ratio${of}`]: '50x60' },
    calm: { [`scraper_windows_open_ratio${of}`]: '50x25 5x30' },
  },
  {
    alert: 'ApiScraperRunsSkipped',
    after: 90,
    raised: source,
    series: { [`scraper_runs_skipped_total${of}`]: '0+1x100' },
    calm: { [`scraper_runs_skipped_total${of}`]: '0x40 1x60' },
  },
  {
    alert: 'ApiScraperTimeLost',
    after: 30,
    raised: source,
    series: { [`scraper_catch_up_skipped_seconds_total${of}`]: '0x10 3600x50' },
    calm: { [`scraper_catch_up_skipped_seconds_total${of}`]: '3600x60' },
  },
  {
    alert: 'ApiScraperExportsRefused',
    after: 50,
    raised: { ...source, kind: 'export' },
    series: { 'scraper_export_failures_total{job="scraper",source="orders",kind="export"}': '0+1x60' },
    calm: { 'scraper_export_failures_total{job="scraper",source="orders",kind="export"}': '0x30 1x30' },
  },
  {
    alert: 'ApiScraperStateFailing',
    after: 30,
    raised: { job: 'scraper' },
    series: { 'scraper_state_failures_total{job="scraper"}': '0+1x40' },
    calm: { 'scraper_state_failures_total{job="scraper"}': '4x40' },
  },
];
