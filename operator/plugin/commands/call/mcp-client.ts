import { isObject } from '../../../../lib/json/json-object.ts';
import { textAt } from '../../../kubernetes/unstructured.ts';
import { askPod, type PodAnswer } from '../../cluster/ask-pod.ts';
import type { Cluster } from '../../cluster/connect.ts';
import { ProblemError, UnreachableError } from '../../cluster/failures.ts';
import type { PodPort } from '../../cluster/port-forward.ts';

export interface ToolCall {
  /** Where the server is mounted. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tool: string;
  readonly given: Readonly<Record<string, unknown>>;
  /** Of this program. */
  readonly version: string;
  readonly timeoutMs: number;
}

const REVISION = '2025-11-25';

/**
 * Calls a tool as a client of MCP does, in a session of its own: initialize, the call, the end.
 *
 * @returns the result of `tools/call`
 * @throws ProblemError where the adapter or the server refuses
 */
export async function callTool(
  cluster: Cluster,
  at: PodPort,
  { path, headers, tool, given, version, timeoutMs }: ToolCall,
): Promise<Readonly<Record<string, unknown>>> {
  const send = (method: 'POST' | 'DELETE', more: Readonly<Record<string, string>>, body?: object): Promise<PodAnswer> =>
    askPod(cluster, at, {
      method,
      path,
      headers: { ...headers, accept: 'application/json, text/event-stream', ...more },
      timeoutMs,
      ...(body !== undefined && { body }),
    });
  const clientInfo = { name: 'kubectl-mcpadapter', version };
  const params = { protocolVersion: REVISION, capabilities: {}, clientInfo };
  const opened = await send('POST', {}, { jsonrpc: '2.0', id: 1, method: 'initialize', params });
  const greeting = resultOf(opened, 1);
  const session = opened.headers['mcp-session-id'];
  const inSession = {
    'mcp-protocol-version': textAt(greeting, 'protocolVersion') ?? REVISION,
    ...(typeof session === 'string' && { 'mcp-session-id': session }),
  };
  try {
    await send('POST', inSession, { jsonrpc: '2.0', method: 'notifications/initialized' });
    const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: tool, arguments: given } };
    return resultOf(await send('POST', inSession, call), 2);
  } finally {
    // It would end by itself.
    if (typeof session === 'string') await send('DELETE', inSession).catch(() => undefined);
  }
}

function resultOf({ status, text, headers }: PodAnswer, id: number): Readonly<Record<string, unknown>> {
  const type = String(headers['content-type'] ?? '');
  const messages = type.startsWith('text/event-stream') ? dataOf(text) : [text];
  for (const one of messages) {
    const message = parsed(one);
    if (!isObject(message)) continue;
    if (isObject(message['result']) && message['id'] === id) return message['result'];
    const error = textAt(message, 'error', 'message') ?? textAt(message, 'detail');
    if (error !== undefined) throw new ProblemError(error);
  }
  throw new UnreachableError(`the pod answered ${status} without a result`);
}

/** The data of the events of a stream that has ended (HTML, "Server-sent events"). */
function dataOf(text: string): string[] {
  return text.split(/\r?\n\r?\n/).map((event) =>
    event
      .split(/\r?\n/)
      .flatMap((line) => (line.startsWith('data:') ? [line.slice(5).replace(/^ /, '')] : []))
      .join('\n'),
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
