import { responseMessage } from '../../support/raw-client.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { within } from './within.ts';

/** A replica or a balancer: something with an origin, such as `http://127.0.0.1:4601`. */
export interface Place {
  readonly url: string;
}

export interface SessionOptions {
  /** The mount. Default: `/mcp/up`. */
  readonly path?: string;
  /** Sent with every request. */
  readonly headers?: Record<string, string>;
  readonly protocolVersion?: string;
  readonly capabilities?: JsonObject;
  /** JSON text of all of `params` of `initialize`, sent as it is, instead of the two above. */
  readonly initializeParams?: string;
}

export interface SendOptions {
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/** The endpoint of one replica, as one session sees it. Nothing is retried, resumed or hidden. */
export interface Door {
  /** Posts a body as it is, or an object as JSON. Resolves with the head of the answer. */
  send(body: unknown, options?: SendOptions): Promise<Response>;
  /** Posts a request under a new id. */
  request(method: string, params?: unknown, options?: SendOptions): Promise<Response>;
  /** Posts a request and resolves with its response message, from JSON or from a stream. Rejects after 60 s. */
  call(method: string, params?: unknown): Promise<JsonObject>;
  /** `call` of a tool. */
  tool(name: string, args?: JsonObject): Promise<JsonObject>;
  /** Opens the session's stream, or resumes one. */
  stream(options?: SendOptions & { readonly lastEventId?: string | undefined }): Promise<Response>;
  /** DELETE. */
  end(options?: SendOptions): Promise<Response>;
}

/** One MCP session, which may be spoken to through any replica. */
export interface Session {
  readonly sessionId: string;
  /** The result of `initialize`. */
  readonly initialized: JsonObject;
  at(place: Place): Door;
}

// A browser that starts from a cold disk on a busy machine was seen to take more than 15 s.
const CALL_TIMEOUT_MS = 60_000;
const PATH = '/mcp/up';

/** Only the request, for those that may be refused. */
export function initialize(place: Place, options: SessionOptions & SendOptions = {}): Promise<Response> {
  const { path = PATH, headers, signal, protocolVersion = '2025-11-25', capabilities = {} } = options;
  const clientInfo = { name: 'e2e', version: '1.0.0' };
  const params = options.initializeParams ?? JSON.stringify({ protocolVersion, capabilities, clientInfo });
  const body = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":${params}}`;
  return post(place.url + path, body, { ...headers }, signal);
}

/** Opens a session through one replica: `initialize` and `notifications/initialized`. Rejects when it is refused. */
export async function openSession(place: Place, options: SessionOptions = {}): Promise<Session> {
  const response = await initialize(place, options);
  const message = await responseMessage(response, 'init');
  const sessionId = response.headers.get('mcp-session-id');
  const { result } = message;
  if (result === undefined || sessionId === null) throw new Error(`${response.status} ${JSON.stringify(message)}`);
  const initialized = asObject(result);
  const session = knownSession(sessionId, String(initialized.protocolVersion), options);
  await drain(session.at(place).send({ jsonrpc: '2.0', method: 'notifications/initialized' }));
  return { ...session, initialized };
}

/** A session that was opened by somebody else, or under other conditions. */
export function knownSession(sessionId: string, protocolVersion: string, options: SessionOptions = {}): Session {
  const { path = PATH } = options;
  const fixed = { ...options.headers, 'mcp-session-id': sessionId, 'mcp-protocol-version': protocolVersion };
  let lastId = 0;

  function at(place: Place): Door {
    const url = place.url + path;
    const door: Door = {
      send: (body, { headers, signal } = {}) => post(url, body, { ...fixed, ...headers }, signal),
      request: (method, params, send) => door.send({ jsonrpc: '2.0', id: (lastId += 1), method, params }, send),
      async call(method, params) {
        const answered = door.request(method, params);
        const id = lastId;
        const message = answered.then((response) => responseMessage(response, id));
        const what = method === 'tools/call' ? `${method} of ${String(asObject(params).name)}` : method;
        return asObject(await within(CALL_TIMEOUT_MS, `the answer to ${what}`, message));
      },
      tool: (name, args = {}) => door.call('tools/call', { name, arguments: args }),
      stream: ({ headers, signal, lastEventId } = {}) => {
        const resume = lastEventId === undefined ? undefined : { 'last-event-id': lastEventId };
        return fetch(url, { headers: { accept: 'text/event-stream', ...fixed, ...resume, ...headers }, signal });
      },
      end: ({ headers, signal } = {}) => fetch(url, { method: 'DELETE', headers: { ...fixed, ...headers }, signal }),
    };
    return door;
  }
  return { sessionId, initialized: {}, at };
}

function post(url: string, body: unknown, headers: Record<string, string>, signal?: AbortSignal): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    signal,
  });
}

/** The status of an answer whose body nobody reads. */
export async function drain(answer: Promise<Response>): Promise<number> {
  const response = await answer;
  await response.arrayBuffer();
  return response.status;
}

/** The text of a tool's result; an error or another kind of content becomes JSON, so that a comparison shows it. */
export function textOf(message: JsonObject): string {
  const { content } = asObject(message.result);
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  const { text } = asObject(first);
  return typeof text === 'string' ? text : JSON.stringify(message);
}
