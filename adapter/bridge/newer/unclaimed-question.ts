import { METHOD_NOT_FOUND, type Request } from '../../exchange/message.ts';
import type { Upstream } from '../../exchange/upstream.ts';
import { type CallSession, postMessage } from './call-session.ts';

/** Answers what a server asks where nobody takes questions: -32601, and `ping` as always (MCP 2025-11-25, ping). */
export function answerUnclaimed(upstream: Upstream, session: CallSession, { method, idText }: Request): void {
  const answer =
    method === 'ping'
      ? '"result":{}'
      : `"error":{"code":${METHOD_NOT_FOUND},"message":"Nobody answers questions on this stream."}`;
  const response = { kind: 'response', idText, params: {} } as const;
  postMessage(upstream, session, response, `{"jsonrpc":"2.0","id":${idText},${answer}}`).catch(() => undefined);
}
