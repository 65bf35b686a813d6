import { asObject, type JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import type { Place } from '../../kit/session.ts';
import { readEvents } from '../../../support/raw-client.ts';

const VERSION = '2026-07-28';
const NAMED: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

export interface SessionlessOptions {
  readonly capabilities?: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
  /** The mount. Default: `up`. */
  readonly server?: string;
}

export interface SessionlessAnswer {
  readonly status: number;
  /** The response message. */
  readonly message: JsonObject;
  readonly result: JsonObject;
  /** What came before it on the stream. */
  readonly others: readonly JsonObject[];
}

let lastId = 0;

/** A client of 2026-07-28, request by request: `params` are sent with the metadata that the revision wants. */
export async function sendSessionless(
  { url }: Place,
  method: string,
  params: JsonObject,
  options: SessionlessOptions & { readonly signal?: AbortSignal } = {},
): Promise<Response> {
  const { capabilities = {}, headers = {}, server = 'up', signal } = options;
  const { _meta, ...rest } = params;
  const meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    'io.modelcontextprotocol/clientInfo': { name: 'sessionless', version: '1' },
    ...asObject(_meta ?? {}),
  };
  const name = rest[NAMED[method] ?? ''];
  lastId += 1;
  return fetch(`${url}/mcp/${server}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: lastId, method, params: { ...rest, _meta: meta } }),
    ...(signal && { signal }),
  });
}

export async function callSessionless(
  place: Place,
  method: string,
  params: JsonObject = {},
  options: SessionlessOptions & { readonly signal?: AbortSignal } = {},
): Promise<SessionlessAnswer> {
  const response = await sendSessionless(place, method, params, options);
  const others: JsonObject[] = [];
  if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
    const message = asObject(await response.json());
    return { status: response.status, message, result: asObject(message.result ?? {}), others };
  }
  for await (const { data } of readEvents(response)) {
    if (data === '') continue;
    const message = asObject(JSON.parse(data));
    if (message.method !== undefined) others.push(message);
    else return { status: response.status, message, result: asObject(message.result ?? {}), others };
  }
  throw new Error('the stream ended without a response');
}

/** What a call that asks is made again with: the same answer to every question. */
export function answeredBy(result: JsonObject, answer: unknown): JsonObject {
  const keys = Object.keys(asObject(result.inputRequests ?? {}));
  return {
    inputResponses: Object.fromEntries(keys.map((key) => [key, answer])),
    requestState: result.requestState,
  };
}
