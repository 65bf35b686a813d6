import { ANYWHERE, guardedConnector } from '../../../lib/net/guarded-connect.ts';
import { Agent, request } from 'undici';
import { valueAt } from '../../../lib/json/tree.ts';
import { ANSWER_LIMITS, parseJson } from '../../../lib/json/json-limits.ts';
import { bodyText } from '../../health/http-body.ts';
import { textAt } from '../../kubernetes/unstructured.ts';

/** What came of an MCP `initialize` through the Service. */
export type Handshake =
  | { readonly ok: true; /** What the answer leaves open, as a sentence. */ readonly note?: string }
  | {
      readonly ok: false;
      readonly message: string;
      /** Since the first failure with what runs now, in milliseconds; undefined: nobody counts. */
      readonly failingForMs?: number;
    };

export type ProbeHandshake = (target: HandshakeTarget, signal: AbortSignal) => Promise<Handshake>;

export interface HandshakeTarget {
  /** `http://10.0.0.1:8932` */
  readonly origin: string;
  /** Where a server is mounted. */
  readonly mountPath: string;
}

const PROTOCOL_VERSION = '2025-11-25';
const TIMEOUT_MS = 5_000;
const END_SESSION_MS = 2_000;
const MAX_BYTES = 1024 * 1024;

/**
 * Opens an MCP session as a client does, and ends it again. An answer that asks for credentials counts: it came from the
 * adapter or through it, and the operator has none. So does that of an adapter that is full: it serves those who came before.
 *
 * @param timeoutMs for the connection, and for the whole answer
 */
export function createHandshake(
  version: string,
  timeoutMs = TIMEOUT_MS,
): { probeHandshake: ProbeHandshake; close(): Promise<void> } {
  const agent = new Agent({
    pipelining: 0,
    keepAliveTimeout: 1,
    connect: guardedConnector({ timeout: timeoutMs }, ANYWHERE),
  });
  const message = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo: { name: 'mcp-operator', version } },
  });
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    connection: 'close',
  };

  const probeHandshake: ProbeHandshake = async ({ origin, mountPath }, signal) => {
    const url = `${origin}${mountPath}`;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    try {
      const answer = await request(url, { dispatcher: agent, method: 'POST', headers, body: message, signal: limit });
      const type = String(answer.headers['content-type'] ?? '');
      const reply = type.startsWith('text/event-stream')
        ? await firstEvent(answer.body)
        : jsonOrUndefined(await bodyText(answer.body, MAX_BYTES));
      const session = answer.headers['mcp-session-id'];
      if (typeof session === 'string') await endSession(url, session, signal);
      return handshakeOf(answer.statusCode, reply, url);
    } catch (error) {
      signal.throwIfAborted();
      return {
        ok: false,
        message: limit.aborted ? silent(url, timeoutMs) : `${url} cannot be reached: ${reasonOf(error)}`,
      };
    }
  };

  const endSession = async (url: string, session: string, signal: AbortSignal): Promise<void> => {
    try {
      const { body } = await request(url, {
        dispatcher: agent,
        method: 'DELETE',
        headers: { 'mcp-session-id': session, 'mcp-protocol-version': PROTOCOL_VERSION, connection: 'close' },
        signal: AbortSignal.any([signal, AbortSignal.timeout(END_SESSION_MS)]),
      });
      await bodyText(body, MAX_BYTES);
    } catch {
      // It expires by itself.
    }
  };

  return { probeHandshake, close: () => agent.destroy() };
}

const silent = (url: string, timeoutMs: number): string =>
  `${url} did not answer within ${timeoutMs / 1000} s; if its NetworkPolicy or another one keeps the operator out, let it in`;

/** @param reply the JSON-RPC answer, or the body of an error */
function handshakeOf(status: number, reply: unknown, url: string): Handshake {
  if (typeof valueAt(reply, ['result', 'protocolVersion']) === 'string') return { ok: true };
  const code = textAt(reply, 'error', 'data', 'code') ?? textAt(reply, 'code');
  if (status === 401) {
    const who = code === 'unauthorized' ? 'the adapter' : 'the upstream';
    return {
      ok: true,
      note: `${who} wants credentials, which the operator does not have: its 401 counts as the answer`,
    };
  }
  if (status === 429 && code === 'sessions_limit') {
    return { ok: true, note: 'the adapter has as many sessions as it may have, so it opened none' };
  }
  if (status === 400 && code === 'missing_client_header') {
    return { ok: true, note: 'the adapter wants headers of its clients, which the operator does not have' };
  }
  const detail = textAt(reply, 'error', 'message') ?? textAt(reply, 'detail') ?? 'this is no answer of an MCP server';
  return { ok: false, message: `${url} answered initialize with HTTP ${status}: ${detail}` };
}

/**
 * The first message of an event stream; the rest is not waited for. Each text is looked at once, however small the parts
 * are in which it comes.
 */
export async function firstEvent(body: AsyncIterable<Uint8Array>): Promise<unknown> {
  const decoder = new TextDecoder();
  const events = new EventReader();
  let length = 0;
  for await (const part of body) {
    const text = decoder.decode(part, { stream: true });
    const message = events.add(text);
    if (message !== undefined) return message;
    length += text.length;
    if (length > MAX_BYTES || events.count > MAX_EVENTS) return undefined;
  }
  return events.add('\n\n');
}

/** Before the answer to `initialize` there is hardly anything. */
const MAX_EVENTS = 1000;
const LINE_END = /\r\n|\n|\r/g;

/**
 * Reads events (WHATWG HTML, "Server-sent events") until one is a JSON-RPC answer. Each part is looked at once, whatever
 * the parts are: the pod that sends them may be anybody's.
 */
export class EventReader {
  /** Complete events so far. */
  count = 0;
  /** The beginning of a line whose end has not come. */
  #rest: string[] = [];
  #data: string[] = [];
  #afterReturn = false;

  /** @returns the answer, when it ends in this part */
  add(text: string): unknown {
    // The two ends of one line may come in two parts.
    let start = this.#afterReturn && text.startsWith('\n') ? 1 : 0;
    if (text !== '') this.#afterReturn = text.endsWith('\r');
    for (const { 0: end, index } of text.matchAll(LINE_END)) {
      if (index < start) continue;
      const line = [...this.#rest, text.slice(start, index)].join('');
      this.#rest = [];
      start = index + end.length;
      if (line.startsWith('data:')) this.#data.push(line.slice(5).replace(/^ /, ''));
      if (line !== '' || this.#data.length === 0) continue;
      const message = jsonOrUndefined(this.#data.join('\n'));
      this.#data = [];
      this.count += 1;
      if (valueAt(message, ['result']) !== undefined || valueAt(message, ['error']) !== undefined) return message;
    }
    this.#rest.push(text.slice(start));
    return undefined;
  }
}

function jsonOrUndefined(text: string): unknown {
  try {
    return parseJson(text, ANSWER_LIMITS);
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  return code ?? String(message);
}
