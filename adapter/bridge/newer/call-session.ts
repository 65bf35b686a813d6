import type { Body, Message } from '../../exchange/message.ts';
import type {
  ExchangePosition,
  ResponseControl,
  ResponseHead,
  ResponseSink,
  Upstream,
  UpstreamSession,
} from '../../exchange/upstream.ts';
import { handshake } from '../../upstream/handshake.ts';
import { greetingIn, type Greeting } from './greetings.ts';
import type { RequestIdentity } from './older-request.ts';

const NO_GREETING = greetingIn('{}');
const OPEN_TIMEOUT_MS = 20_000;
const POST_TIMEOUT_MS = 20_000;
const END_TIMEOUT_MS = 5_000;

/** A session at an older server, opened for a client that has none. */
export interface CallSession {
  readonly session: UpstreamSession;
  /** Of every message in it, names and values in turn. */
  readonly headers: readonly string[];
  readonly protocolVersion: string;
  readonly greeting: Greeting;
  /** It is used no longer. Never rejects. */
  leave(): void;
}

/** A session as this side knows it. */
export type OwnSession = Pick<UpstreamSession, 'serverId' | 'sessionId' | 'generation'>;

/** Opens one with what the client of a request says of itself. Rejects as `handshake` does. */
export async function openCallSession(
  own: OwnSession,
  upstream: Upstream,
  headers: readonly string[],
  { initializeParams, logLevel }: RequestIdentity,
): Promise<CallSession> {
  let greeting = NO_GREETING;
  const state = { initializeParams, logLevel, subscriptions: [] };
  const session = { ...own, upstreamSessionId: undefined };
  const opened = await handshake(upstream, session, headers, state, OPEN_TIMEOUT_MS, (answer) => {
    greeting = greetingIn(answer);
  });
  const { upstreamSessionId, protocolVersion } = opened;
  return callSession(upstream, { ...own, upstreamSessionId }, headers, protocolVersion, greeting);
}

/** One that is open already. */
export function knownCallSession(
  { serverId, sessionId, generation }: OwnSession,
  upstream: Upstream,
  headers: readonly string[],
  { upstreamSessionId, protocolVersion }: Pick<ExchangePosition, 'upstreamSessionId' | 'protocolVersion'>,
): CallSession {
  const session = { serverId, sessionId, generation, upstreamSessionId };
  return callSession(upstream, session, headers, protocolVersion, NO_GREETING);
}

function callSession(
  upstream: Upstream,
  session: UpstreamSession,
  headers: readonly string[],
  protocolVersion: string,
  greeting: Greeting,
): CallSession {
  const all = [...headers, 'mcp-protocol-version', protocolVersion];
  const leave = (): void => void upstream.endSession(session, all, END_TIMEOUT_MS).catch(() => undefined);
  return { session, headers: all, protocolVersion, greeting, leave };
}

/** Posts a message that nothing is to come of: an answer, a notification. Rejects when it was not taken. */
export function postMessage(
  upstream: Upstream,
  { session, headers }: CallSession,
  message: Message,
  text: string,
): Promise<void> {
  const body: Body = { bytes: Buffer.from(text), text, messages: [message], batch: false };
  return new Promise((resolve, reject) => {
    upstream.send({ method: 'POST', session, headers, body }, new Posted(resolve, reject));
  });
}

class Posted implements ResponseSink {
  readonly #resolve: () => void;
  readonly #reject: (error: Error) => void;
  #timer: NodeJS.Timeout | undefined;
  #control: ResponseControl | undefined;

  constructor(resolve: () => void, reject: (error: Error) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onStart(control: ResponseControl): void {
    this.#control = control;
    this.#timer = setTimeout(() => {
      control.abort();
      this.#reject(new Error(`the upstream server did not take a message within ${POST_TIMEOUT_MS / 1000} s`));
    }, POST_TIMEOUT_MS);
  }

  onHead({ status }: ResponseHead): void {
    clearTimeout(this.#timer);
    this.#control?.abort();
    if (status < 300) this.#resolve();
    else this.#reject(new Error(`the upstream server refused a message with HTTP ${status}`));
  }

  onData(): void {}

  onEnd(): void {
    clearTimeout(this.#timer);
  }

  onError(error: Error): void {
    clearTimeout(this.#timer);
    this.#reject(error);
  }
}
