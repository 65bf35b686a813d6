import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

import type { AdapterError } from '../errors.ts';
import type { Body, Message } from '../exchange/message.ts';
import type { ClientUpstream } from '../mount/client-upstream.ts';
import type { RequestAttributes } from '../exchange/request-attributes.ts';
import type { Mount } from '../mount/mount.ts';
import { encodeHeader, repeatedHeaders } from '../tools/parameter-headers.ts';
import type { Sends } from '../path/paths.ts';
import type { ToolParameters } from '../tools/tool-parameters.ts';
import type { ToolCall } from '../tools/visible/tool-step.ts';
import type { NestedCall } from '../code-mode/nested-call.ts';
import { SANDBOX_LIMITS } from '../code-mode/sandbox/sandbox-limits.ts';
import { Operation } from '../path/operation.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import type { MessageBus } from '../state/message-bus.ts';
import type { Tracing } from '../telemetry/traces/tracing.ts';
import { MemoryReply } from './memory-reply.ts';
import { type HashArguments, recordRequest } from './recorded-request.ts';

/** The code gets no more than this; what stands around a result is small. */
const MAX_CHARS = SANDBOX_LIMITS.callResultBytes + (64 << 10);

export interface MemoryCallerDeps {
  readonly toolParameters: Pick<ToolParameters, 'of'>;
  readonly bus: Pick<MessageBus, 'publish'>;
  readonly tracing: Pick<Tracing, 'begin'> | undefined;
  readonly known: (error: unknown) => AdapterError;
  /** As of calls that clients make over HTTP. */
  readonly hashArguments: HashArguments | undefined;
}

/**
 * Code that runs within a call, and calls other tools of the same server as the client of that call would: limits, pins,
 * uploads, artifacts, breaker and time limit are those of a direct call. There is no HTTP in between.
 */
export class MemoryCaller {
  readonly #mount: Pick<Mount, 'serverId' | 'path' | 'timeoutOf'>;
  readonly #client: ClientUpstream;
  readonly #sends: Pick<Sends, 'session' | 'sessionCall' | 'sessionlessCall'>;
  readonly #parts: MemoryCallerDeps;

  constructor(
    mount: Pick<Mount, 'serverId' | 'path' | 'timeoutOf'>,
    client: ClientUpstream,
    sends: Pick<Sends, 'session' | 'sessionCall' | 'sessionlessCall'>,
    parts: MemoryCallerDeps,
  ) {
    this.#mount = mount;
    this.#client = client;
    this.#sends = sends;
    this.#parts = parts;
  }

  /** Resolves with the JSON text of the response message. Rejects with the signal's reason when that is aborted. */
  async call(outer: ToolCall, nested: NestedCall, signal: AbortSignal): Promise<string> {
    const isSessionless = isWorkspace(outer.record);
    const id = `mcpa-code-${randomUUID()}`;
    // The revision without sessions says who asks in every request; nobody waits for progress of this one.
    const { progressToken: _, ...meta } = (outer.request.params['_meta'] ?? {}) as Record<string, unknown>;
    const params = { name: nested.tool, arguments: nested.args, ...(isSessionless ? { _meta: meta } : {}) };
    const body = bodyOf({ kind: 'request', method: 'tools/call', params, idText: JSON.stringify(id) });
    nested.bytes = body.bytes.length;
    const headers = isSessionless ? await this.#sessionlessHeaders(outer, nested) : outer.caller.headers;
    signal.throwIfAborted();
    const { reply, send } = this.#operation(
      outer,
      body,
      { headers, attributes: nested.attributes },
      isSessionless,
      signal,
    );
    const onAbort = (): void => {
      if (!isSessionless) this.#cancel(outer, id);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      send();
      return await reply.response;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  #operation(
    outer: ToolCall,
    body: Body,
    own: { readonly headers: IncomingHttpHeaders; readonly attributes: RequestAttributes },
    isSessionless: boolean,
    signal: AbortSignal,
  ): { readonly reply: MemoryReply; readonly send: () => void } {
    const { serverId, path: route, timeoutOf } = this.#mount;
    const { bus, tracing, known, hashArguments } = this.#parts;
    const { record, trace: within } = outer;
    const caller = { ...outer.caller, ...own, within };
    recordRequest(caller, body, hashArguments);
    const closed = Promise.withResolvers<void>();
    const trace = tracing?.begin({
      serverId,
      route,
      httpMethod: 'POST',
      body,
      ...own,
      reply: { statusCode: 200, once: (_event, listener) => void closed.promise.then(listener) },
      within,
    });
    const tool = body.messages[0]?.params['name'];
    const operation = new Operation({
      serverId,
      method: 'POST',
      body,
      caller,
      trace,
      isSessionless,
      isNested: true,
      timeoutMs: timeoutOf(typeof tool === 'string' ? tool : undefined),
    });
    const reply = new MemoryReply(operation, {
      signal,
      maxChars: MAX_CHARS,
      known,
      // It is for the client, which hears it on the stream of the session.
      onOther: (text) => {
        if (isSessionless) return;
        const { sessionId } = record;
        bus.publish({ type: 'notify', serverId, sessionId, text }).catch(known);
      },
    });
    reply.afterwards(closed.resolve);
    const { session, sessionCall, sessionlessCall } = this.#sends;
    const isCall = operation.calls.length > 0;
    const send = isSessionless ? sessionlessCall : isCall ? sessionCall : session;
    return { reply, send: () => send(operation, reply) };
  }

  /** The headers with those that repeat what stands in the body (MCP 2026-07-28, Streamable HTTP). */
  async #sessionlessHeaders(outer: ToolCall, { tool, args }: NestedCall): Promise<IncomingHttpHeaders> {
    const own = Object.entries(outer.caller.headers).filter(([name]) => !name.startsWith('mcp-param-'));
    const headers: IncomingHttpHeaders = { ...Object.fromEntries(own), 'mcp-name': encodeHeader(tool) };
    const declared = await this.#parts.toolParameters.of(this.#client.listing(outer), tool);
    const repeated = repeatedHeaders(declared, args);
    for (let at = 0; at < repeated.length; at += 2) headers[repeated[at] ?? ''] = repeated[at + 1];
    return headers;
  }

  /** Nobody waits for the call any more: the server hears it as it would from the client. Without sessions, to leave says it. */
  #cancel(outer: ToolCall, id: string): void {
    const params = { requestId: id, reason: 'The code that made the call has ended.' };
    const body = bodyOf({ kind: 'notification', method: 'notifications/cancelled', params });
    const own = { headers: outer.caller.headers, attributes: { requestId: outer.caller.attributes.requestId } };
    const { reply, send } = this.#operation(outer, body, own, false, new AbortController().signal);
    // It goes on for nothing where the upstream cannot be told.
    reply.response.catch(() => undefined);
    send();
  }
}

function bodyOf(message: Message): Body {
  const { kind: _, params } = message;
  const method = message.kind === 'response' ? undefined : message.method;
  const id = message.kind === 'request' ? { id: JSON.parse(message.idText) as unknown } : {};
  const text = JSON.stringify({ jsonrpc: '2.0', ...id, method, params });
  return { bytes: Buffer.from(text), text, messages: [message], batch: false };
}
