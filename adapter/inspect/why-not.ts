import { NotInTimeError } from './conversation.ts';
import { AdapterError } from '../errors.ts';
import type { Mount } from '../mount/mount.ts';
import { HandshakeFailed } from '../upstream/handshake.ts';
import { reason } from '../upstream/ping-loop.ts';
import { speaksSse } from '../upstream/speaks-sse.ts';

const SSE_TIMEOUT_MS = 2_000;

/**
 * Why an upstream did not say what it was asked for, with its own words: not fit to be shown before secrets are taken out and
 * escapes put in. May ask it whether it speaks the older transport, for two seconds.
 * @param missing what is missing where it was reached: `it lists no tools`
 */
export async function whyNot(mount: Mount, error: unknown, missing: string): Promise<string> {
  if (error instanceof NotInTimeError) return `not reached: ${error.message}`;
  if (error instanceof AdapterError) return `reached, but ${missing}: ${error.message}`;
  if (!(error instanceof HandshakeFailed) || error.status === 0) return `not reached: ${reason(error)}`;
  const { status, body, message } = error;
  if (status === 401 || status === 403) {
    return mount.refusal === undefined
      ? `refused (HTTP ${status}): it wants the credentials of clients, which are not there now`
      : `refused: ${mount.refusal(status, body)}`;
  }
  const isUnknown = (status === 404 || status === 405) && mount.upstream.modern;
  const isOlder = isUnknown && (await speaksSse(mount.upstream, mount.headers.base('POST', undefined), SSE_TIMEOUT_MS));
  const advice = isOlder ? '; it answers like the older transport: set upstream.transport to sse' : '';
  return `reached, but no MCP server: ${message}${advice}`;
}
