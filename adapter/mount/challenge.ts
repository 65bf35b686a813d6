import type { ProtectedResource } from '../upstream/protected-resource.ts';

/** The parameter of a challenge that says where the resource is described (RFC 9728, section 5.1). */
const METADATA = /\bresource_metadata\s*=\s*(?:"((?:[^"\\]|\\.)*)"|[^\s,"]+)/gi;

/** Where the adapter describes a mount as a protected resource (RFC 9728, section 3.1). */
export const metadataPath = (mountPath: string): string => `/.well-known/oauth-protected-resource${mountPath}`;

/**
 * The upstream's challenge with the mount's description (`url`) in place of its own, which `resource` learns. Undefined where
 * there is none. Of several headers, undici makes a list.
 */
export function relayedChallenge(
  sent: string | readonly string[] | undefined,
  url: string,
  resource: Pick<ProtectedResource, 'learn'>,
): string | undefined {
  if (sent === undefined) return undefined;
  const challenge = typeof sent === 'string' ? sent : sent.join(', ');
  const named = METADATA.exec(challenge)?.[1];
  METADATA.lastIndex = 0;
  if (named !== undefined) resource.learn(named);
  return challenge.replace(METADATA, () => `resource_metadata="${url}"`);
}
