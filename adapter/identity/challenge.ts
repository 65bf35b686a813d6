import { ERRORS, type ErrorCode } from '../errors.ts';

/** Where a mount is described as a protected resource, and the scopes that are of use there. */
export interface ChallengedMount {
  readonly metadataUrl: string;
  readonly scopes: readonly string[];
}

const CODES: ReadonlySet<ErrorCode> = new Set(['unauthorized', 'invalid_token', 'insufficient_scope']);

/**
 * `WWW-Authenticate` (RFC 6750, section 3; RFC 9728, section 5.1). `error` stands there only where a token was refused.
 * Undefined for errors that no other token would mend.
 */
export function challenge(code: ErrorCode, { metadataUrl, scopes }: ChallengedMount): string | undefined {
  if (!CODES.has(code)) return undefined;
  const parameters = [`resource_metadata="${metadataUrl}"`];
  if (scopes.length > 0) parameters.push(`scope="${scopes.join(' ')}"`);
  if (code !== 'unauthorized') parameters.push(`error="${code}"`, `error_description="${ERRORS[code].detail}"`);
  return `Bearer ${parameters.join(', ')}`;
}
