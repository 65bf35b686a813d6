/** What stands in the place of a secret. */
export const REDACTED = '<redacted>';

/** Names whose values are never shown, wherever they stand. */
const SENSITIVE_NAME =
  /authorization|token|secret|password|passwd|cookie|api[-_]?key|private[-_]?key|credential|signature|^sig$|^mcp_(upload|artifact)_sig$/i;
const BEARER = /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{4,}/gi;
const JWT = /\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]*/g;
const URL_CREDENTIALS = /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@:]*:[^\s/@]*@/gi;
const ASSIGNMENT =
  /\b([\w-]*(?:authorization|token|secret|password|passwd|cookie|api[-_]?key|signature|mcp_(?:upload|artifact)_sig)[\w-]*)(["']?\s*[=:]\s*["']?)(?!<redacted>)[^\s"',;&}]+/gi;
/** Shorter values occur by chance in ordinary text. */
const MIN_SECRET_CHARS = 4;

export type Redact = (text: string) => string;

/** Removes the given secrets, and text that looks like a credential, from any text that leaves the program. */
export function redactor(secrets: readonly string[]): Redact {
  const literal = [...new Set(secrets)].filter((secret) => secret.length >= MIN_SECRET_CHARS);
  // Longest first: one secret may be the beginning of another.
  literal.sort((a, b) => b.length - a.length);
  return (text) => {
    let out = text;
    for (const secret of literal) if (out.includes(secret)) out = out.replaceAll(secret, REDACTED);
    return out
      .replace(BEARER, (_all, scheme: string) => `${scheme} ${REDACTED}`)
      .replace(JWT, REDACTED)
      .replace(URL_CREDENTIALS, (_all, scheme: string) => `${scheme}${REDACTED}@`)
      .replace(ASSIGNMENT, (_all, name: string, between: string) => name + between + REDACTED);
  };
}

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
      SENSITIVE_NAME.test(name) && inner !== null && inner !== undefined ? REDACTED : redactValue(inner, redact, depth + 1),
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
