import { AdapterError, rpcErrorText } from '../errors.ts';
import { ownRequest } from '../upstream/own-request.ts';
import type { ResponseHead } from '../upstream/upstream.ts';
import { sendJson } from './answers.ts';
import { ownUpstreamOf } from './own-upstream.ts';
import type { Turn } from './turn.ts';

const PROBE_TIMEOUT_MS = 10_000;
/** The parameter of a challenge that says where the resource is described (RFC 9728, section 5.1). */
const METADATA = /\bresource_metadata\s*=\s*(?:"((?:[^"\\]|\\.)*)"|[^\s,"]+)/gi;

/** Where the adapter describes a mount as a protected resource (RFC 9728, section 3.1). */
export const metadataPath = (mountPath: string): string => `/.well-known/oauth-protected-resource${mountPath}`;

const isChallenge = (status: number): boolean => status === 401 || status === 403;

/**
 * Where clients authenticate to the upstream themselves, its challenge (401, 403) is theirs to see. The resource that
 * they know is the mount, so it is the mount's description that the challenge names.
 */
export function relayChallenge({ parts, mount, incoming }: Turn, head: ResponseHead): void {
  if (mount.protectedResource === undefined || !isChallenge(head.status)) return;
  const sent = head.headers['www-authenticate'];
  // Of several headers, undici makes a list.
  const challenge = Array.isArray(sent) ? sent.join(', ') : sent;
  if (challenge === undefined) return;
  const named = METADATA.exec(challenge)?.[1];
  METADATA.lastIndex = 0;
  if (named !== undefined) mount.protectedResource.learn(named);
  const own = `resource_metadata="${parts.baseUrl(incoming.request)}${metadataPath(mount.path)}"`;
  const relayed = challenge.replace(METADATA, () => own);
  head.headers['www-authenticate'] = relayed;
  // For an answer that is not passed on but for its status.
  incoming.reply.setHeader('www-authenticate', relayed);
}

/**
 * A request without a session, or without required credentials, gets the challenge that the upstream answers such requests
 * with. False: there is none.
 */
export async function challenged(turn: Turn, error: AdapterError, idTexts: readonly string[]): Promise<boolean> {
  const { mount, incoming } = turn;
  if (mount.protectedResource === undefined || incoming.headers.authorization !== undefined) return false;
  const lacksCredentials = error.code === 'missing_client_header' && mount.requiredHeaders.includes('authorization');
  if (!lacksCredentials && error.code !== 'missing_session') return false;
  let status = 0;
  await ownRequest(ownUpstreamOf(turn), {
    session: undefined,
    headers: mount.headers.base('POST', incoming.headers),
    message: { method: 'ping' },
    timeoutMs: PROBE_TIMEOUT_MS,
    onHead: (head) => {
      status = head.status;
      relayChallenge(turn, head);
    },
  }).catch(() => undefined);
  if (!isChallenge(status)) return false;
  turn.admitted.answered(status);
  turn.admitted.finished('ok');
  incoming.facts.outcome = 'upstream_failed';
  const text = rpcErrorText('upstream_failed', 'The upstream server asks for authorization.', idTexts[0] ?? 'null');
  sendJson(incoming, status, text, undefined);
  return true;
}
