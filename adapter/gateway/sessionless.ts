import { AdapterError } from '../errors.ts';
import { Exchange } from '../exchange/exchange.ts';
import { type Body, type Message, type Request, toolName } from '../exchange/message.ts';
import { headerMismatch } from '../exchange/modern-headers.ts';
import { refuseDisabled } from './admission.ts';
import { sendResult } from './answers.ts';
import { stepOf } from './call-tool.ts';
import { sessionlessTools } from './lists.ts';
import { requestTimeout, timeoutResults } from './time-limits.ts';
import { planOf, type Turn } from './turn.ts';

/** A message of the sessionless revision (MCP 2026-07-28): passed to upstreams that speak it, refused for others. */
export async function sessionless(turn: Turn, body: Body, idTexts: readonly string[]): Promise<void> {
  const { parts, mount, incoming } = turn;
  const message = body.messages[0] as Message;
  const base = mount.headers.base('POST', incoming.headers);
  const era = await mount.era.era(base).catch((error: unknown) => {
    throw new AdapterError('upstream_unreachable', undefined, { cause: error });
  });
  if (era === 'legacy') throw new AdapterError('legacy_upstream');
  const mismatch =
    headerMismatch(message, incoming.headers) ??
    (await parts.toolParameters.mismatch(mount, message, incoming.headers, base));
  if (mismatch !== undefined) throw new AdapterError('header_mismatch', mismatch);
  const isCall = message.kind === 'request' && message.method === 'tools/call';
  if (isCall) {
    refuseDisabled(mount, message);
    if (stepOf(mount, body, [message]) !== undefined) return await needsSession(turn, message);
  }
  const limit = isCall ? mount.timeoutOf(toolName(message)) : requestTimeout(body);
  const filters = mount.sessionlessCatalog.any && message.kind === 'request' && message.method === 'tools/list';
  const plan = planOf(turn, {
    request: {
      method: 'POST',
      session: undefined,
      headers: mount.headers.forward('POST', incoming.headers, true),
      body,
    },
    idTexts,
    timeoutMs: limit,
    onTimeout: () => (isCall ? timeoutResults(mount, [message], [limit]) : new AdapterError('upstream_timeout')),
    onResponse: filters ? (text) => sessionlessTools(mount, text) : undefined,
    onFinish: () => undefined,
  });
  new Exchange(plan).start();
}

/** Files belong to sessions, so the tools that take or make them cannot be called without one. */
async function needsSession({ mount, incoming, admitted }: Turn, call: Request): Promise<void> {
  const text =
    `The tool "${toolName(call) ?? ''}" of the server "${mount.serverId}" works with files, which belong to a session. ` +
    'Connect with a protocol revision up to 2025-11-25, which opens one.';
  admitted.finished('ok');
  incoming.facts.outcome = 'answered';
  const result = { content: [{ type: 'text', text }], isError: true, resultType: 'complete' };
  await sendResult(incoming, call.idText, JSON.stringify(result), undefined);
}
