import type { AdapterConfig } from '../../../crds/config/adapter-file/adapter.ts';
import type { Environment } from '../../../lib/references/reference.ts';
import type { Redaction } from '../../../lib/redaction/redact.ts';
import type { LogOutput } from '../logs/log-output.ts';
import type { Logger } from '../logs/logger.ts';
import type { ToolNames } from '../tool-names.ts';

/** What telemetry is opened with. */
export interface TelemetryOptions {
  readonly config: Pick<AdapterConfig, 'servers' | 'telemetry'>;
  readonly env: Environment;
  readonly version: string;
  readonly logger: Logger;
  readonly logOutput: LogOutput;
  readonly redaction: Redaction;
  readonly tools: ToolNames;
}
