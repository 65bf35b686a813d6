import { ExportFailure } from './emitter.ts';
import type { Exporter } from './otlp-exporters.ts';

/** Statuses after which the same data would be refused again: of HTTP, and of gRPC (invalid argument). */
const REFUSED = new Set([400, 413, 422, 3]);
const RESOURCE_EXHAUSTED = 8;
/** Nothing was sent. */
const NOT_CONNECTED = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|No connection established/;
/** What an error says at most: collectors may repeat what they were sent. */
const MAX_TEXT_CHARS = 200;

/**
 * One export. The exporter itself repeats what can be repeated within its timeout; what it leaves is a failure.
 *
 * @throws ExportFailure
 */
export async function exportOnce<T>(
  exporter: Exporter<T>,
  items: T,
  { timeoutMs, retryAfterMs }: { readonly timeoutMs: number; readonly retryAfterMs: () => number | undefined },
): Promise<void> {
  // Its timeout counts from one sign of life to the next: a collector that drips would hold everything up.
  const limit = timeoutMs * 2 + 1000;
  let timer: NodeJS.Timeout | undefined;
  const result = await new Promise<{ readonly code: number; readonly error?: unknown }>((resolve) => {
    timer = setTimeout(() => resolve({ code: 1, error: new Error(`no answer within ${limit} ms`) }), limit);
    try {
      exporter.export(items, resolve);
    } catch (error) {
      // What cannot be encoded now never can.
      resolve({ code: 1, error: Object.assign(new Error(`not encoded: ${textOf(error)}`), { code: 3 }) });
    }
  }).finally(() => clearTimeout(timer));
  if (result.code !== 0) throw failureOf(result.error, retryAfterMs());
}

function failureOf(error: unknown, retryAfterMs: number | undefined): ExportFailure {
  const { code, data } = (error ?? {}) as { code?: number; data?: string };
  const text = textOf(error);
  const tooLarge =
    code === 413 ||
    ((code === 400 || code === RESOURCE_EXHAUSTED) && /too large|larger than/i.test(`${text} ${data ?? ''}`));
  const status = code === undefined ? '' : ` (${code})`;
  const retryable = !tooLarge && !REFUSED.has(Number(code));
  return new ExportFailure(`the collector has not acknowledged an export: ${text}${status}`, {
    retryable,
    retryAfterMs,
    tooLarge,
    mayHaveArrived: retryable && !NOT_CONNECTED.test(text),
  });
}

const textOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).slice(0, MAX_TEXT_CHARS);
