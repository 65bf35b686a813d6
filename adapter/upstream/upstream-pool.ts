import { Pool } from 'undici';

import { ANYWHERE, type ConnectRules, guardedConnector } from '../../lib/net/guarded-connect.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/**
 * Much shorter than the 5 s after which common servers close an idle connection, so that none is used while it closes:
 * undici's timers count ticks, and fall behind the clock while the process waits for the processor.
 */
const KEEP_ALIVE_MS = 2_000;
/** The same where a server says how long it keeps connections: so much sooner. */
const KEEP_ALIVE_MARGIN_MS = 3_000;
/** Errors that are raised before a byte of the request left. */
const NOT_SENT: ReadonlySet<string> = new Set([
  'ERR_BLOCKED_ADDRESS',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

export interface UpstreamPoolOptions {
  readonly url: string;
  readonly insecureTls: boolean;
  /** Where it may connect to. Default: anywhere. */
  readonly rules?: ConnectRules;
}

/** Connections to a server. How long answers may take is for whoever waits for them. */
export const upstreamPool = ({ url, insecureTls, rules = ANYWHERE }: UpstreamPoolOptions): Pool =>
  new Pool(new URL(url).origin, {
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: guardedConnector({ timeout: CONNECT_TIMEOUT_MS, rejectUnauthorized: !insecureTls, allowH2: false }, rules),
  });

/** Whether a request that failed so may have reached the server. */
export const mayBeSent = (error: unknown): boolean => !NOT_SENT.has((error as NodeJS.ErrnoException).code ?? '');
