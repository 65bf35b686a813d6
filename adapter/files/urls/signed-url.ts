import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

/** What a signed upload URL is for. */
export interface UploadClaim {
  readonly serverId: string;
  readonly sessionId: string;
}

export interface DownloadClaim extends UploadClaim {
  readonly artifactId: string;
  readonly filename: string;
}

/** The parameters of a signed upload URL, well formed but not yet verified. */
export interface SignedUpload {
  readonly exp: string;
  readonly nonce: string;
  readonly sig: string;
}

export type SignatureState = 'valid' | 'expired' | 'invalid';

/** Unix seconds; far below what a number holds exactly. */
const EXPIRY = /^[0-9]{1,12}$/;
const NONCE = /^[0-9a-f]{32}$/;
const SIGNATURE = /^[0-9a-f]{64}$/;
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const UPLOAD = 'upload URL';
const DOWNLOAD = 'download URL';
const SEALING = 'session in a URL';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * The query of a signed upload URL, without `?`. `exp` is in seconds since the epoch; the nonce makes it single-use.
 * Parameters and signed text are those of the original adapter; the key is derived (HKDF, RFC 5869) from its key.
 */
export function uploadQuery(secret: string, claim: UploadClaim & { exp: number; nonce: string }): string {
  const exp = String(claim.exp);
  const sig = signature(secret, UPLOAD, [claim.serverId, claim.sessionId, exp, claim.nonce]);
  return `mcp_upload_exp=${exp}&mcp_upload_nonce=${claim.nonce}&mcp_upload_sig=${sig}`;
}

/** `absent`: the URL was never a signed one. A parameter given twice is `invalid`: two readers could take two values. */
export function readUploadQuery(query: URLSearchParams): SignedUpload | 'absent' | 'invalid' {
  const values = only(query, ['mcp_upload_exp', 'mcp_upload_nonce', 'mcp_upload_sig']);
  if (typeof values === 'string') return values;
  const [exp = '', nonce = '', sig = ''] = values;
  return EXPIRY.test(exp) && NONCE.test(nonce) && SIGNATURE.test(sig) ? { exp, nonce, sig } : 'invalid';
}

/** What is wrong with parameters that `readUploadQuery` holds to be invalid. */
export function uploadQueryProblem(query: URLSearchParams): 'missing_fields' | 'invalid_expiry' | 'bad_signature' {
  const values = only(query, ['mcp_upload_exp', 'mcp_upload_nonce', 'mcp_upload_sig']);
  if (typeof values === 'string') return 'missing_fields';
  return EXPIRY.test(values[0] ?? '') ? 'bad_signature' : 'invalid_expiry';
}

/** `now` in milliseconds. Says `expired` only of what was valid before; the last second counts. */
export function verifyUpload(secret: string, claim: UploadClaim, signed: SignedUpload, now: number): SignatureState {
  const { exp, nonce, sig } = signed;
  return stateOf(isSignature(secret, UPLOAD, [claim.serverId, claim.sessionId, exp, nonce], sig), exp, now);
}

/**
 * The id of a session as it stands in download URLs: those are passed on and logged, and without authentication the id
 * is all that it takes to use the session.
 */
export function sealSession(secret: string, sessionId: string): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, derivedKey(secret, SEALING), iv, { authTagLength: TAG_BYTES });
  const sealed = [iv, cipher.update(sessionId, 'hex'), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(sealed).toString('base64url');
}

/** Undefined: it was not sealed with this secret. */
export function openSession(secret: string, sealed: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length <= IV_BYTES + TAG_BYTES) return undefined;
  const iv = bytes.subarray(0, IV_BYTES);
  const decipher = createDecipheriv(CIPHER, derivedKey(secret, SEALING), iv, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES), undefined, 'hex') + decipher.final('hex');
  } catch {
    return undefined;
  }
}

/** The query of a signed download URL, without `?`, good for any number of downloads until `exp` (seconds). */
export function downloadQuery(secret: string, claim: DownloadClaim & { exp: number }): string {
  const exp = String(claim.exp);
  return `mcp_artifact_exp=${exp}&mcp_artifact_sig=${signature(secret, DOWNLOAD, downloadDeps(claim, exp))}`;
}

/** `absent`: the URL was never a signed one. */
export function verifyDownload(
  secret: string,
  claim: DownloadClaim,
  query: URLSearchParams,
  now: number,
): SignatureState | 'absent' {
  const values = only(query, ['mcp_artifact_exp', 'mcp_artifact_sig']);
  if (typeof values === 'string') return values;
  const [exp = '', sig = ''] = values;
  if (!EXPIRY.test(exp)) return 'invalid';
  return stateOf(isSignature(secret, DOWNLOAD, downloadDeps(claim, exp), sig), exp, now);
}

const downloadDeps = (claim: DownloadClaim, exp: string): string[] => [
  claim.serverId,
  claim.sessionId,
  claim.artifactId,
  claim.filename,
  exp,
];

function stateOf(signed: boolean, exp: string, now: number): SignatureState {
  if (!signed) return 'invalid';
  return Number(exp) < Math.floor(now / 1000) ? 'expired' : 'valid';
}

/** The values of parameters that must be there once each. */
function only(query: URLSearchParams, names: readonly string[]): string[] | 'absent' | 'invalid' {
  const values = names.map((name) => query.getAll(name));
  if (values.every((each) => each.length === 0)) return 'absent';
  return values.every((each) => each.length === 1) ? values.flat() : 'invalid';
}

function isSignature(secret: string, purpose: string, parts: readonly string[], given: string): boolean {
  // A line break within a part would let one text stand for two claims.
  if (!SIGNATURE.test(given) || parts.some((part) => part.includes('\n'))) return false;
  return timingSafeEqual(Buffer.from(signature(secret, purpose, parts)), Buffer.from(given));
}

function signature(secret: string, purpose: string, parts: readonly string[]): string {
  return createHmac('sha256', derivedKey(secret, purpose)).update(parts.join('\n')).digest('hex');
}

/** A key for each purpose: what one signs or seals says nothing of another, nor of the token that may be the secret. */
const derivedKey = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', purpose, KEY_BYTES));
