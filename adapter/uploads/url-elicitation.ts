import { isObject, objectOf } from '../../lib/json/json-object.ts';
import { META } from '../exchange/protocol-meta.ts';
import type { ToolCall } from '../tools/visible/tool-step.ts';

/** A revision of the protocol that knows URL-mode elicitation. */
const ELICITATION_REVISION = '2025-11-25';

/** Whether the client of this call, which has a session, can show its user a page (MCP 2025-11-25, URL-mode elicitation). */
export function takesUrls({ record }: Pick<ToolCall, 'record'>): boolean {
  if (record.protocolVersion < ELICITATION_REVISION) return false;
  const { capabilities } = JSON.parse(record.initializeParams) as {
    capabilities?: { elicitation?: { url?: unknown } | null } | null;
  };
  return capabilities?.elicitation?.url !== undefined && capabilities.elicitation.url !== null;
}

/** The same of a client that has none, and says it with each call. */
export function declaresUrls({ request }: Pick<ToolCall, 'request'>): boolean {
  const capabilities = objectOf(objectOf(request.params['_meta'])[META.clientCapabilities]);
  return isObject(objectOf(capabilities['elicitation'])['url']);
}
