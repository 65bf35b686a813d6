import type { Redact } from '../../lib/redaction/redact.ts';

/** What the adapter sends to a server that may be the reason of a refusal. */
export interface SentTo {
  /** In `Host`. */
  readonly host: string;
  /** Names of the headers with credentials: `upstream.static_headers`, or `Authorization` from its URL. */
  readonly headers: readonly string[];
}

const MAX_CHARS = 200;
/** How servers say that they do not know a host name: those of the MCP SDKs, Playwright, Django, Vite, nginx. */
const ABOUT_HOST = /\bhost\b|\bhosts\b|only allowed at|misdirected/i;
const TAG = /<[^<>]{0,500}>/g;

/**
 * Why a server refuses the adapter (401, 403): what it does not like, its own words where it has some, what was sent, and what
 * to do. One line for a log, a health object, an error.
 * @param redact for the server's words, which may repeat what was sent
 */
export function upstreamRefusal(status: number, body: string, sent: SentTo, redact: Redact): string {
  const text = wordsOf(body, redact);
  const words = text === '' ? '' : `: "${text}"`;
  if (status === 403 && ABOUT_HOST.test(text)) {
    return (
      `The upstream server refused the host name ${sent.host} (HTTP ${status})${words}. Let the server allow it, or set ` +
      'upstream.host_header to a name that it allows.'
    );
  }
  const what =
    sent.headers.length === 0
      ? 'No credentials were sent: set upstream.static_headers.'
      : `Sent: ${sent.headers.join(', ')}.`;
  return `The upstream server refused the adapter's credentials (HTTP ${status})${words}. ${what}`;
}

/** The message of a JSON-RPC or other JSON error, or the text of a page; on one line, and short. */
function wordsOf(body: string, redact: Redact): string {
  const text = messageIn(body.slice(0, 10_000)) ?? body.slice(0, 10_000).replaceAll(TAG, ' ');
  // Before the cut, which must not leave half a secret.
  const line = redact(text.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim());
  return line.length > MAX_CHARS ? `${line.slice(0, MAX_CHARS)}…` : line;
}

function messageIn(body: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined;
  }
  const { error, message, detail, error_description: description } = Object(value) as Record<string, unknown>;
  const inner = Object(error) as { readonly message?: unknown };
  const all = [inner.message, description, message, detail, error];
  return all.find((one): one is string => typeof one === 'string');
}
