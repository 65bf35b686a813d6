import { AdapterError } from '../errors.ts';
import { toolName } from '../exchange/message.ts';
import { type Ending, failed } from '../path/ending.ts';
import type { Operation } from '../path/operation.ts';
import type { ClientUpstream } from './client-upstream.ts';
import type { Mount } from './mount.ts';
import { completeCall } from '../exchange/answers/own-result.ts';
import { timeoutResults } from '../path/time-limits.ts';

const CANCEL_TIMEOUT_MS = 5_000;

/** What requests get whose time is over: calls a result that a model can read, and the upstream is told of those in a session. */
export function timeOver(
  operation: Operation,
  { serverId, timeoutOf }: Pick<Mount, 'serverId' | 'timeoutOf'>,
  client: ClientUpstream,
): Ending {
  const { unanswered } = operation.awaited;
  const open = operation.calls.filter((call) => unanswered.includes(call.idText));
  if (open.length === 0) return failed(new AdapterError('upstream_timeout'));
  if (!operation.isSessionless) void cancelUpstream(operation, client, unanswered);
  const limits = open.map((call) => timeoutOf(toolName(call)));
  const shape = operation.isSessionless ? completeCall : undefined;
  return { outcome: 'timeout', text: timeoutResults(serverId, open, limits, shape) };
}

async function cancelUpstream(operation: Operation, client: ClientUpstream, idTexts: readonly string[]): Promise<void> {
  for (const idText of idTexts) {
    const params = `{"requestId":${idText},"reason":"The time limit of the call is over."}`;
    const message = { method: 'notifications/cancelled', params, notification: true };
    try {
      // oxlint-disable-next-line no-await-in-loop -- In the order of the calls, and hardly ever more than one.
      await client.ask(operation, operation.session, message, { timeoutMs: CANCEL_TIMEOUT_MS });
    } catch {
      // The client has its answer; an upstream that cannot be told goes on for nothing.
    }
  }
}
