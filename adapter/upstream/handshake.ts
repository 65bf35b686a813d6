import { type OwnAnswer, ownRequest } from './own-request.ts';
import type { Upstream, UpstreamSession } from '../exchange/upstream.ts';

const END_TIMEOUT_MS = 5_000;

/** Everything that makes a new upstream session equal to the one that was lost. */
export interface Handshake {
  readonly initializeParams: string;
  readonly logLevel: string | null;
  readonly subscriptions: readonly string[];
}

export interface Opened {
  readonly upstreamSessionId: string | null;
  readonly protocolVersion: string;
}

/** Hears the answer to `initialize` (JSON text of the message). */
export type OnGreeting = (answer: string) => void;

/** The upstream refused or failed the handshake. */
export class HandshakeFailed extends Error {
  override readonly name = 'HandshakeFailed';
  /** HTTP status of the refusal; 0 when there was no answer. */
  readonly status: number;
  /** What the refusal says; '' where nothing was read. */
  readonly body: string;

  constructor(message: string, { status, body }: Pick<OwnAnswer, 'status' | 'body'>, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = status;
    this.body = body;
  }
}

/**
 * Opens an upstream session: initialize, initialized, then the log level and subscriptions that the client had set.
 * `headers` are without the protocol's. A log level or subscription that is refused now does not undo the session; where
 * it does not come about, what the upstream has opened is ended.
 */
export async function handshake(
  upstream: Upstream,
  session: UpstreamSession,
  headers: readonly string[],
  state: Handshake,
  timeoutMs: number,
  onGreeting?: OnGreeting,
): Promise<Opened> {
  let opened: UpstreamSession = { ...session, upstreamSessionId: undefined };
  try {
    const answer = await ownRequest(upstream, {
      session: opened,
      headers,
      message: { method: 'initialize', params: state.initializeParams },
      timeoutMs,
      onHead: ({ upstreamSessionId }) => {
        opened = { ...session, upstreamSessionId };
      },
    });
    const protocolVersion = answer.message?.result?.['protocolVersion'];
    if (typeof protocolVersion !== 'string') throw new HandshakeFailed(reasonOf(answer), answer);
    onGreeting?.(answer.text ?? '');
    const sendHeaders = [...headers, 'mcp-protocol-version', protocolVersion];
    const send = (method: string, params: string | undefined, notification: boolean): Promise<OwnAnswer> =>
      ownRequest(upstream, {
        session: opened,
        headers: sendHeaders,
        message: { method, params, notification },
        timeoutMs,
      });
    await send('notifications/initialized', undefined, true);
    if (state.logLevel !== null) await send('logging/setLevel', state.logLevel, false);
    for (const uri of state.subscriptions) await send('resources/subscribe', JSON.stringify({ uri }), false);
    return { upstreamSessionId: answer.upstreamSessionId, protocolVersion };
  } catch (error) {
    endUnused(upstream, opened, headers);
    throw error;
  }
}

/** Ends a session that nobody will use; if it cannot be told, the upstream expires it by itself. */
export function endUnused(upstream: Upstream, session: UpstreamSession, headers: readonly string[]): void {
  upstream.endSession(session, headers, END_TIMEOUT_MS).catch(() => undefined);
}

function reasonOf(answer: OwnAnswer): string {
  const { error } = answer.message ?? {};
  if (error !== undefined) return `initialize was refused: ${error.message} (${error.code})`;
  return `initialize was answered with HTTP ${answer.status}`;
}
