import { Exchange, type Outcome } from '../exchange/exchange.ts';
import { type Body, type Request, toolName } from '../exchange/message.ts';
import { refuseDisabled } from './admission.ts';
import { callTool, type ForwardedCall, stepOf, toolCall } from './call-tool.ts';
import type { InventoryRequest } from './tool-inventory.ts';
import { completeCall } from './own-result.ts';
import { withParameters } from './parameter-headers.ts';
import { planOf } from './plan-of.ts';
import { timeoutResults } from './time-limits.ts';
import { TurnTools } from './turn-tools.ts';
import type { Turn } from './turn.ts';
import { inWorkspace, noWorkspace, openWorkspace } from './workspaces.ts';

/** A tools/call of the sessionless revision. `listing` asks for the tools of its client. */
export async function callSessionless(
  turn: Turn,
  body: Body,
  request: Request,
  listing: InventoryRequest,
): Promise<void> {
  const { mount } = turn;
  refuseDisabled(mount, request);
  if (mount.surface.checksCalls) {
    await mount.surface.checkCalls(new TurnTools(turn), noWorkspace(turn), [toolName(request)]);
  }
  const step = stepOf(mount, body, [request]);
  const headers = mount.headers.forward('POST', turn.incoming.headers, true);
  if (step === undefined) return exchange(turn, body, request, headers);
  const tool = toolName(request);
  const declared = await turn.parts.toolParameters.of(listing, tool ?? '');
  const record = step.needsHome ? await openWorkspace(turn) : noWorkspace(turn);
  // As any session, a workspace does not expire while a call runs in it.
  const { sessions } = turn.parts;
  const { lease } = step.needsHome
    ? await sessions.enter(record.serverId, record.sessionId, record.principal)
    : { lease: undefined };
  const leave = (): Promise<void> | undefined => (lease === undefined ? undefined : sessions.leave(lease));
  const call = toolCall({ turn, record, body, timeoutMs: mount.timeoutOf(tool) });
  let started = false;
  const forward = (own: ForwardedCall): void => {
    const args = own.body.messages[0]?.params['arguments'];
    const sent = own.body === body ? headers : withParameters(headers, declared, args);
    const onEnd = async (outcome: Outcome): Promise<void> => {
      await own.onEnd?.(outcome);
      await leave();
    };
    started = true;
    exchange(turn, own.body, request, sent, { ...own, onEnd });
  };
  try {
    await callTool(call, step.needsHome ? inWorkspace(turn, step) : step, forward, leave);
  } finally {
    if (!started) await leave();
  }
}

function exchange(turn: Turn, body: Body, request: Request, headers: readonly string[], own?: ForwardedCall): void {
  const { mount } = turn;
  const limit = mount.timeoutOf(toolName(request));
  const plan = planOf(turn, {
    request: { method: 'POST', session: undefined, headers, body },
    idTexts: [request.idText],
    timeoutMs: limit,
    onTimeout: () => timeoutResults(mount.serverId, [request], [limit], completeCall),
    onResponse: own?.onResponse,
    onFinish: (outcome) => own?.onEnd?.(outcome),
  });
  new Exchange(plan).start();
}
