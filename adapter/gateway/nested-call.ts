import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';

import { inject } from 'light-my-request';

import { ANSWER_LIMITS, parseJson } from '../../lib/json/json-limits.ts';
import { SANDBOX_LIMITS } from '../code-mode/sandbox-limits.ts';
import { argumentAt } from '../exchange/modern-headers.ts';
import { FrameSplitter } from '../exchange/sse-frames.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import type { Incoming, RequestFacts } from './incoming.ts';
import { sessionlessListing } from './listing-for.ts';
import { type CallResponse, resultForCode } from './nested-result.ts';
import { ownTurn } from './own-turn.ts';
import { encodeHeader } from './parameter-headers.ts';
import type { Mount, ToolCall } from './turn.ts';

/** Where calls begin: the gateway. */
export type Post = (mount: Mount, incoming: Incoming, bytes: Buffer) => Promise<void>;

/** The code gets no more than this; what stands around a result is small. */
const MAX_BYTES = SANDBOX_LIMITS.callResultBytes + (64 << 10);
/** One that is as long is parsed in a turn of its own: code makes many calls at once. */
const LARGE_CHARS = 32 << 10;

export interface NestedCall {
  readonly tool: string;
  readonly args: Record<string, unknown>;
  /** Filled in on the way, as those of a client's request. */
  readonly facts: RequestFacts;
  /** Of the message that was sent; filled in. */
  bytes: number;
}

/**
 * Calls a tool of the same server for code that runs within a call, as if the client of that call had sent it: limits,
 * pins, uploads, artifacts, breaker and time limit are those of a direct call. Resolves with the JSON text of what the
 * code gets; rejects with an Error whose message is for the code.
 */
export async function nestedCall(post: Post, call: ToolCall, nested: NestedCall, signal: AbortSignal): Promise<string> {
  const id = `mcpa-code-${randomUUID()}`;
  const own = await request(call, id, nested);
  nested.bytes = own.bytes.length;
  return exchange(post, call, own, id, signal);
}

interface NestedRequest {
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly facts: RequestFacts;
}

async function request(
  { turn, record, request: { params } }: ToolCall,
  id: string,
  { tool, args, facts }: NestedCall,
): Promise<NestedRequest> {
  const isModern = isWorkspace(record);
  // The revision without sessions says who asks in every request; nobody waits for progress of this one.
  const { progressToken: _, ...meta } = (params['_meta'] ?? {}) as Record<string, unknown>;
  const own = { name: tool, arguments: args, ...(isModern ? { _meta: meta } : {}) };
  const message = { jsonrpc: '2.0', id, method: 'tools/call', params: own };
  const { headers } = turn.incoming;
  const bytes = Buffer.from(JSON.stringify(message));
  return { headers: isModern ? await modernHeaders(turn, tool, args) : headers, bytes, facts };
}

/** The headers with those that repeat what stands in the body (MCP 2026-07-28, Streamable HTTP). */
async function modernHeaders(
  turn: ToolCall['turn'],
  tool: string,
  args: Record<string, unknown>,
): Promise<IncomingHttpHeaders> {
  const { parts, incoming } = turn;
  const own = Object.entries(incoming.headers).filter(([name]) => !name.startsWith('mcp-param-'));
  const headers: IncomingHttpHeaders = { ...Object.fromEntries(own), 'mcp-name': encodeHeader(tool) };
  for (const { header, path } of await parts.toolParameters.of(sessionlessListing(turn), tool)) {
    const value = argumentAt(args, path);
    if (typeof value === 'string') headers[header] = encodeHeader(value);
    else if (typeof value === 'number' || typeof value === 'boolean') headers[header] = String(value);
  }
  return headers;
}

/** What the code gets. */
async function exchange(
  post: Post,
  call: ToolCall,
  { headers, bytes, facts }: NestedRequest,
  id: string,
  signal: AbortSignal,
): Promise<string> {
  const { turn, record } = call;
  const { mount, incoming, parts } = turn;
  let reply: ServerResponse | undefined;
  const onAbort = (): void => {
    if (reply === undefined) return;
    if (!isWorkspace(record)) cancel(post, call, id);
    reply.destroy();
  };
  if (signal.aborted) throw aborted();
  signal.addEventListener('abort', onAbort);
  try {
    const response = await inject(
      (_request, res) => {
        reply = replyOf(res);
        // It may have ended before there was anything to end.
        if (signal.aborted) reply.destroy();
        else void post(mount, { ...incoming, headers, facts, reply, within: turn.trace }, bytes);
      },
      { method: 'POST', url: mount.path, payloadAsStream: true },
    );
    const isEvents = String(response.headers['content-type']).startsWith('text/event-stream');
    if (!isEvents) {
      const text = await collect(response.stream());
      return resultForCode(text, await parsed(text));
    }
    return await resultFrom(response.stream(), id, (text) => {
      // What the server says or asks meanwhile is for the client. It hears it on the stream of the session.
      if (isWorkspace(record)) return;
      const { serverId, sessionId } = record;
      parts.bus.publish({ type: 'notify', serverId, sessionId, text }).catch(parts.known);
    });
  } catch (error) {
    if (signal.aborted) throw aborted(error);
    if ((error as { code?: unknown }).code === 'LIGHT_ECONNRESET')
      throw new Error('The answer broke off.', { cause: error });
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    // The upstream may keep the stream open behind its answer.
    reply?.destroy();
  }
}

/** Nobody waits for the call any more: the server hears it as it would from the client. Without sessions, to leave says it. */
function cancel(post: Post, { turn: { mount, incoming, trace } }: ToolCall, id: string): void {
  const params = { requestId: id, reason: 'The code that made the call has ended.' };
  const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }));
  const facts = { requestId: incoming.facts.requestId };
  inject((_request, res) => void post(mount, { ...incoming, facts, reply: replyOf(res), within: trace }, bytes), {
    method: 'POST',
    url: mount.path,
  }).catch(() => {
    // It goes on for nothing then.
  });
}

/** A response of which the bytes go to the code: that takes them, so no time limit of a connection is needed. */
function replyOf(res: object): ServerResponse {
  const reply = res as ServerResponse;
  Object.assign(reply.socket ?? {}, { setTimeout: () => {} });
  return reply;
}

async function collect(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of bounded(stream)) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

async function resultFrom(stream: Readable, id: string, onOther: (text: string) => void): Promise<string> {
  const splitter = new FrameSplitter();
  for await (const chunk of bounded(stream)) {
    for (const { data } of splitter.push(chunk)) {
      if (data === undefined || data === '') continue;
      const message = await parsed(data);
      if (message?.method !== undefined) onOther(data);
      else if (message?.id === id) return resultForCode(data, message);
    }
  }
  throw new Error('The stream of the call has ended without a result.');
}

async function parsed(text: string): Promise<CallResponse | null> {
  await ownTurn(text.length, LARGE_CHARS);
  return parseJson(text, ANSWER_LIMITS) as CallResponse | null;
}

async function* bounded(stream: Readable): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error(`The result is larger than ${MAX_BYTES >> 20} MiB.`);
    yield chunk;
  }
}

const aborted = (cause?: unknown): Error => new Error('The call was aborted.', { cause });
