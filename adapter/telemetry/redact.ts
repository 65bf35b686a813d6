/** What stands in the place of a secret. */
export const REDACTED = '<redacted>';

/** Names whose values are never shown, wherever they stand. */
const SENSITIVE_NAME =
  /authorization|token|secret|password|passwd|cookie|api[-_]?key|private[-_]?key|credential|signature|^sig$|^mcp_(upload|artifact)_sig$/i;
const BEARER = /\b(Bearer|Basic)\s{1,8}[A-Za-z0-9._~+/=-]{4,}/gi;
const JWT = /\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]*/g;
const URL_CREDENTIALS = /(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@:]*:[^\s/@]*@/gi;
const ASSIGNMENT =
  /((?:authorization|token|secret|password|passwd|cookie|api[-_]?key|signature|mcp_(?:upload|artifact)_sig)[\w-]{0,64}["']?\s{0,8}[=:]\s{0,8}["']?)(?!<redacted>)[^\s"',;&}]+/gi;
/** Shorter values occur by chance in ordinary text. */
const MIN_SECRET_CHARS = 4;
/** Clients and upstreams may send text of any length; what is said of it is not to cost more than that. */
const MAX_CHARS = 16_384;

/** A session id, or one that was cut off at the end of a text. */
const ID = /([0-9a-f]{8})(?:[0-9a-f]{24,}|[0-9a-f]+(?=…$))/gi;

export type Redact = (text: string) => string;

/**
 * Removes the given secrets, and text that looks like a credential, from any text that leaves the program. Text of more
 * than 16 Ki characters is cut off there.
 */
export function redactor(secrets: readonly string[]): Redact {
  const literal = [...new Set(secrets)].filter((secret) => secret.length >= MIN_SECRET_CHARS);
  // Longest first: one secret may be the beginning of another.
  literal.sort((a, b) => b.length - a.length);
  return (text) => {
    let out = text;
    for (const secret of literal) if (out.includes(secret)) out = out.replaceAll(secret, REDACTED);
    // After the literal ones, of which half must not be left at the cut.
    if (out.length > MAX_CHARS) out = `${out.slice(0, MAX_CHARS)}…`;
    return out
      .replace(BEARER, (_all, scheme: string) => `${scheme} ${REDACTED}`)
      .replace(JWT, REDACTED)
      .replace(URL_CREDENTIALS, (_all, scheme: string) => `${scheme}${REDACTED}@`)
      .replace(ASSIGNMENT, (_all, name: string) => name + REDACTED);
  };
}

/**
 * Leaves of each id as much as is needed to follow it: where authentication is off, who knows the id of a session has
 * the session. Ids of files and hashes look like it; nobody needs the whole of them either.
 */
export const maskIds = (text: string): string => text.replace(ID, '$1…');

/** The same for structured values: sensitive names lose their values, all text is redacted. */
export function redactValue(value: unknown, redact: Redact, depth = 0): unknown {
  if (typeof value === 'string') return redact(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > 8) return '[deep]';
  if (Array.isArray(value)) return value.map((item) => redactValue(item, redact, depth + 1));
  if (value instanceof Error) return redactError(value, redact, depth);
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      SENSITIVE_NAME.test(name) && inner !== null && inner !== undefined
        ? REDACTED
        : redactValue(inner, redact, depth + 1),
    ]),
  );
}

function redactError(error: Error, redact: Redact, depth: number): Record<string, unknown> {
  const { code } = error as NodeJS.ErrnoException;
  return {
    type: error.name,
    message: redact(error.message),
    ...(code === undefined ? {} : { code }),
    ...(error.stack === undefined ? {} : { stack: redact(error.stack) }),
    ...(error.cause === undefined ? {} : { cause: redactValue(error.cause, redact, depth + 1) }),
  };
}
