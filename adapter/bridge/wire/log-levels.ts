/** Levels of log messages (RFC 5424, section 6.2.1; MCP, logging), the most verbose first. */
export const LOG_LEVELS: ReadonlySet<string> = new Set([
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
]);
