import { redactUrl } from '../../lib/redaction/redact-url.ts';
import { hasInvisible } from '../catalog/visible-text.ts';
import { AdapterError } from '../errors.ts';
import { type Message, MODERN_REVISION, toolName } from '../exchange/message.ts';
import type { SessionRecord } from '../state/state-store.ts';
import type { ResponseHead } from '../upstream/upstream.ts';
import type { Incoming } from './incoming.ts';
import type { Mount } from './turn.ts';

/** Throws unless every header of `client_headers.required` is there. */
export function requireHeaders(mount: Mount, incoming: Incoming): void {
  for (const name of mount.requiredHeaders) {
    const value = incoming.headers[name];
    if (value !== undefined && value !== '') continue;
    throw new AdapterError('missing_client_header', `The header ${name} is required by this server and is missing.`);
  }
}

/** The session id that the client sent. */
export function requireSession(incoming: Incoming): string {
  const sessionId = incoming.headers['mcp-session-id'];
  if (typeof sessionId !== 'string' || sessionId === '') throw new AdapterError('missing_session');
  return sessionId;
}

/** Revisions that clients may name in a session whatever was agreed on, because some libraries always name their own. */
const KNOWN_REVISIONS: ReadonlySet<string> = new Set([
  '2024-11-05',
  '2025-03-26',
  '2025-06-18',
  '2025-11-25',
  MODERN_REVISION,
]);

/** Throws for a revision that is neither the session's nor known (MCP, Streamable HTTP, protocol version header). */
export function requireRevision(
  { headers }: Incoming,
  { protocolVersion }: Pick<SessionRecord, 'protocolVersion'>,
): void {
  const said = headers['mcp-protocol-version'];
  if (said === undefined || said === protocolVersion || (typeof said === 'string' && KNOWN_REVISIONS.has(said))) return;
  const detail = `The MCP-Protocol-Version header says ${JSON.stringify(said)}; this session speaks ${protocolVersion}.`;
  throw new AdapterError('invalid_request', detail);
}

/** Throws for a call of a tool that `disabled_tools` or its own name hides; to the client it does not exist. */
export function refuseDisabled(mount: Mount, call: Message): void {
  const name = toolName(call);
  if (mount.hidesUnseen && name !== undefined && hasInvisible(name)) {
    throw new AdapterError('unknown_tool', 'Unknown tool: its name has invisible characters.');
  }
  if (!mount.disabled.any) return;
  if (name === undefined) throw new AdapterError('unknown_tool', 'The tool call names no tool.');
  if (mount.disabled.matches(name)) throw new AdapterError('unknown_tool', `Unknown tool: ${name}`);
}

/** Answers that say something about the configuration of the adapter, not to the client. */
export function rejectedHead(mount: Mount, head: ResponseHead): AdapterError | undefined {
  const { status } = head;
  if (status < 300 || status === 400 || status === 404) return undefined;
  if (status < 400) {
    // Its query often is that of upstream.url, in which a key may stand.
    const place = mount.redact(redactUrl(String(head.headers.location)));
    const detail = `The upstream server redirects to ${place}; set upstream.url to its new place.`;
    return new AdapterError('upstream_failed', detail);
  }
  if ((status === 401 || status === 403) && !mount.relaysChallenges) {
    return new AdapterError(
      'upstream_failed',
      `The upstream server refused the adapter's credentials (HTTP ${status}).`,
    );
  }
  return undefined;
}
