import type { EffectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import { type CodeModeDeps, withCodeMode } from '../code-mode/code-mode.ts';
import type { MountAdditions } from '../mount/create-mount.ts';
import { type Logger, shorten } from '../telemetry/logs/logger.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

export interface CodeToolDeps extends Omit<CodeModeDeps, 'onCall'> {
  readonly logger: Logger;
  readonly telemetry: Pick<Telemetry, 'nestedCall'>;
}

/** Of a name that code calls, as of one that a client calls. */
const MAX_LOGGED_CHARS = 200;

/** What the adapter adds to a server, with code mode where it is on; each call that code makes is logged. */
export function codeTools(
  server: EffectiveServer,
  additions: MountAdditions,
  { logger, telemetry, ...parts }: CodeToolDeps,
): MountAdditions {
  if (!server.code_mode_enabled) return additions;
  return withCodeMode(server, additions, {
    ...parts,
    onCall: ({ requestId, serverId, sessionId, tool, outcome, ms, ...ended }) => {
      const attributes = {
        request_id: requestId,
        trace_id: ended.attributes.trace?.traceId,
        span_id: ended.attributes.trace?.spanId,
        server_id: serverId,
        session: sessionId === undefined ? undefined : shorten(sessionId),
        tool: tool.slice(0, MAX_LOGGED_CHARS),
        outcome,
        ms: Math.round(ms * 100) / 100,
      };
      logger.info(attributes, 'call by code');
      telemetry.nestedCall({ ...ended, seconds: ms / 1000, parentRequestId: requestId });
    },
  });
}
