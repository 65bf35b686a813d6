/** An event of a stream, as it came. Comments are left out. */
export interface SseEvent {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly retry: string | undefined;
  readonly data: string;
}

/** The events of a response as they arrive. Ends with the stream, throws when the connection breaks. */
export async function* readEvents(response: Response): AsyncGenerator<SseEvent, undefined> {
  let buffered = '';
  for await (const chunk of (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    const blocks = (buffered + chunk).split(/\r?\n\r?\n/);
    buffered = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = parseEvent(block);
      if (event !== undefined) yield event;
    }
  }
}

function parseEvent(block: string): SseEvent | undefined {
  const fields = block.split(/\r?\n/).filter((line) => line !== '' && !line.startsWith(':'));
  if (fields.length === 0) return undefined;
  const valuesOf = (name: string): string[] =>
    fields.flatMap((line) => (line.startsWith(`${name}:`) ? [line.slice(name.length + 1).replace(/^ /, '')] : []));
  return {
    id: valuesOf('id').at(-1),
    event: valuesOf('event').at(-1),
    retry: valuesOf('retry').at(-1),
    data: valuesOf('data').join('\n'),
  };
}

export interface RawClientOptions {
  /** Sent with every request, such as an authentication token. */
  readonly headers?: Record<string, string>;
  readonly protocolVersion?: string;
  readonly capabilities?: Record<string, unknown>;
}

/** One session over Streamable HTTP, sent and shown as bytes, with nothing retried, resumed or hidden. */
export interface RawClient {
  readonly sessionId: string | undefined;
  /** The result of `initialize`. */
  readonly initialized: unknown;
  /** Sends a body as it is, or an object as JSON. Does not wait for the end of the answer. */
  post(body: unknown, headers?: Record<string, string>, signal?: AbortSignal): Promise<Response>;
  /** Sends a request under a new id. */
  request(method: string, params?: unknown, signal?: AbortSignal): Promise<Response>;
  /** Sends a request and resolves with its response message, from a JSON answer or from a stream. */
  call(method: string, params?: unknown): Promise<Record<string, unknown>>;
  callTool(name: string, args?: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** Opens the stream of GET, or resumes the one of an event. */
  get(lastEventId?: string, signal?: AbortSignal): Promise<Response>;
  delete(): Promise<Response>;
}

/** Initialises a session at `url`. Rejects when the answer is no result. */
export async function openRawClient(url: string, options: RawClientOptions = {}): Promise<RawClient> {
  const { protocolVersion = '2025-11-25', capabilities = {} } = options;
  const fixed: Record<string, string> = { ...options.headers };
  let lastId = 0;

  const post: RawClient['post'] = (body, headers = {}, signal?: AbortSignal) =>
    fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...fixed,
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      signal,
    });
  const request: RawClient['request'] = (method, params, signal) =>
    post({ jsonrpc: '2.0', id: (lastId += 1), method, params }, {}, signal);

  const clientInfo = { name: 'raw-client', version: '1.0.0' };
  const response = await request('initialize', { protocolVersion, capabilities, clientInfo });
  const message = await responseMessage(response, lastId);
  if (message.result === undefined) throw new Error(`initialize: ${response.status} ${JSON.stringify(message)}`);
  const sessionId = response.headers.get('mcp-session-id') ?? undefined;
  if (sessionId !== undefined) fixed['mcp-session-id'] = sessionId;
  const { protocolVersion: negotiated } = asRecord(message.result);
  fixed['mcp-protocol-version'] = typeof negotiated === 'string' ? negotiated : protocolVersion;
  await (await post({ jsonrpc: '2.0', method: 'notifications/initialized' })).body?.cancel();

  const client: RawClient = {
    sessionId,
    initialized: message.result,
    post,
    request,
    async call(method, params) {
      const answer = request(method, params);
      const id = lastId;
      return await responseMessage(await answer, id);
    },
    callTool: (name, args = {}) => client.call('tools/call', { name, arguments: args }),
    get: (lastEventId, signal) => {
      const resume = lastEventId === undefined ? undefined : { 'last-event-id': lastEventId };
      return fetch(url, { headers: { accept: 'text/event-stream', ...fixed, ...resume }, signal });
    },
    delete: () => fetch(url, { method: 'DELETE', headers: fixed }),
  };
  return client;
}

/** The response message with this id: the JSON body, or the event of a stream that holds it. */
export async function responseMessage(response: Response, id: unknown): Promise<Record<string, unknown>> {
  if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream'))
    return parse(await response.text());
  for await (const event of readEvents(response)) {
    const message = event.data === '' ? {} : parse(event.data);
    if (message.id === id && message.method === undefined) return message;
  }
  throw new Error(`the stream ended without a response to ${String(id)}`);
}

function parse(text: string): Record<string, unknown> {
  try {
    return asRecord(JSON.parse(text));
  } catch (cause) {
    throw new Error(`no JSON object: ${text.slice(0, 500)}`, { cause });
  }
}

function asRecord(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) throw new TypeError(`no object: ${String(value)}`);
  return { ...value };
}
