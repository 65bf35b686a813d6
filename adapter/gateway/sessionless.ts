import { listedOwn } from '../catalog/catalog.ts';
import { AdapterError, type ErrorCode, ERRORS } from '../errors.ts';
import { Exchange } from '../exchange/exchange.ts';
import type { Body, Message, Request } from '../exchange/message.ts';
import { headerMismatch } from '../exchange/modern-headers.ts';
import { refuseDisabled } from './admission.ts';
import { sendJson, sendResult } from './answers.ts';
import { checkPrompts } from './check-prompts.ts';
import { firstSeen } from './first-seen.ts';
import { withGreeting } from './greeting.ts';
import { hiddenUse } from './hidden-ui.ts';
import { sessionlessListing } from './listing-for.ts';
import { isOwnListOnly, listAnswer, ownList } from './lists.ts';
import { completeResult } from './own-result.ts';
import { planOf } from './plan-of.ts';
import { ownResource } from './resources.ts';
import { callSessionless } from './sessionless-call.ts';
import { requestTimeout } from './time-limits.ts';
import type { Turn } from './turn.ts';
import { mayUse, noWorkspace } from './workspaces.ts';

const INVALID_PARAMS = -32602;
/** Where a URI of ours names the session that it belongs to. */
const SESSION_IN_URI = /^[^:]*:\/\/sessions\/([0-9a-f]{32})\//;

/** A message of the sessionless revision (MCP 2026-07-28): passed to upstreams that speak it, refused for others. */
export async function sessionless(turn: Turn, body: Body, idTexts: readonly string[]): Promise<void> {
  const { parts, mount, incoming } = turn;
  const message = body.messages[0] as Message;
  const listing = sessionlessListing(turn);
  const { clientKey, base, upstream } = listing;
  const era = await mount.era.era(clientKey, base, upstream).catch((error: unknown) => {
    throw new AdapterError('upstream_unreachable', undefined, { cause: error });
  });
  if (era === 'legacy') throw new AdapterError('legacy_upstream');
  // What a server refuses that speaks other revisions only is said in its own words.
  if (era !== 'declined') {
    const mismatch =
      headerMismatch(message, incoming.headers) ??
      (await parts.toolParameters.mismatch(listing, message, incoming.headers));
    if (mismatch !== undefined) throw new AdapterError('header_mismatch', mismatch);
    if (message.kind === 'request') {
      if (message.method === 'tools/call') return callSessionless(turn, body, message, listing);
      if (await answerHere(turn, body, message)) return;
      await checkPrompts(turn, noWorkspace(turn), [message]);
      const hidden = await hiddenUse(turn, noWorkspace(turn), [message]);
      if (hidden !== undefined) return noSuchResource(turn, message, 'unknown_resource', hidden.uri);
    }
  } else if (message.kind === 'request' && message.method === 'tools/call') refuseDisabled(mount, message);
  const plan = planOf(turn, {
    request: {
      method: 'POST',
      session: undefined,
      headers: mount.headers.forward('POST', incoming.headers, true),
      body,
    },
    idTexts,
    timeoutMs: requestTimeout(body),
    onTimeout: () => new AdapterError('upstream_timeout'),
    onResponse: shown(turn, body, message),
    onFinish: () => undefined,
  });
  new Exchange(plan).start();
}

/** How the answer must be changed on its way; undefined when it passes as it is. */
function shown(turn: Turn, body: Body, message: Message): ((text: string) => string | Promise<string>) | undefined {
  const { mount } = turn;
  if (message.kind === 'request' && message.method === 'server/discover') {
    const own = { tools: listedOwn(mount.surface.catalog).length > 0, resources: mount.resources !== undefined };
    if (!own.tools && !own.resources && !mount.texts.any) return undefined;
    return (text) => withGreeting(turn, text, firstSeen(turn, noWorkspace(turn)), own);
  }
  return listAnswer(turn, body, undefined, () => noWorkspace(turn));
}

/** Answers what the upstream knows nothing of. False: it is the upstream's to answer. */
async function answerHere(turn: Turn, body: Body, request: Request): Promise<boolean> {
  const { mount, incoming, admitted, parts } = turn;
  if (isOwnListOnly(mount, request)) {
    const result = await ownList(mount, noWorkspace(turn), request);
    admitted.finished('ok');
    incoming.facts.outcome = 'answered';
    await sendResult(incoming, request.idText, completeResult(result), undefined);
    return true;
  }
  const own = request.method === 'resources/read' ? ownResource(mount, body) : undefined;
  if (own === undefined) return false;
  const caller = noWorkspace(turn);
  const sessionId = SESSION_IN_URI.exec(own.uri)?.[1];
  const isAllowed = sessionId === undefined || (await mayUse(parts.sessions, caller, sessionId));
  const record = sessionId === undefined ? caller : { ...caller, sessionId };
  const result = isAllowed ? await own.resources.read(record, own.uri) : undefined;
  if (result === undefined) {
    noSuchResource(turn, request, 'artifact_not_found', own.uri);
    return true;
  }
  admitted.finished('ok');
  incoming.facts.outcome = 'answered';
  await sendResult(incoming, request.idText, completeResult(result), undefined);
  return true;
}

function noSuchResource({ incoming, admitted }: Turn, { idText }: Request, outcome: ErrorCode, uri: unknown): void {
  admitted.finished('ok');
  incoming.facts.outcome = outcome;
  // -32002 belongs to the revisions with sessions.
  const error = { code: INVALID_PARAMS, message: ERRORS.unknown_resource.detail, data: { code: outcome, uri } };
  sendJson(incoming, 200, `{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify(error)}}`, undefined);
}
