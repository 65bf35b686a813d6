import { type Request, toolName } from '../../exchange/message.ts';
import type { Caller } from '../../path/caller.ts';
import type { SessionRecord, StateStore } from '../../state/state-store.ts';
import { bodyOf, sampleCaller, sampleClient } from '../../steps/testing/step-scene.ts';
import type { Mount } from '../../mount/mount.ts';
import type { ToolSource } from '../../tools/tool-source.ts';
import type { ToolCall } from '../../tools/visible/tool-step.ts';

/** Nobody gives up waiting. */
const NEVER = new AbortController().signal;

/** The tools of a mount as a client sees them who waits until `signal` is aborted. */
export function testSource(
  mount: Mount,
  store: StateStore,
  { signal = NEVER, ...changes }: Partial<Caller> & { readonly signal?: AbortSignal } = {},
): ToolSource {
  const asker = { caller: sampleCaller(changes), trace: undefined };
  return sampleClient(mount, store).source(asker, { signal, afterwards: (run) => run() });
}

/** A tools/call (JSON text) on its way to what is done to it. */
export function testCall(
  text: string,
  { mount, store, record }: { readonly mount: Mount; readonly store: StateStore; readonly record: SessionRecord },
): ToolCall {
  const body = bodyOf(text);
  const request = body.messages[0] as Request;
  const source = testSource(mount, store);
  const timeoutMs = 60_000;
  return {
    caller: sampleCaller(),
    trace: undefined,
    signal: source.signal,
    source,
    tools: () => mount.visibleCatalog.tools(source, record, timeoutMs),
    record,
    body,
    request,
    tool: toolName(request) ?? '',
    timeoutMs,
  };
}
