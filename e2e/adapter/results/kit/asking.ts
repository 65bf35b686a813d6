import { responseMessage } from '../../../support/raw-client.ts';
import { asObject, type JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import { openSession, type Place } from '../../kit/session.ts';

const MODERN = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'asking', version: '1' },
};

/** One client of a mount, with a session or without, at any replica. */
export interface Asking {
  /** The response message; its text as it came is `raw`. */
  call(place: Place, method: string, params: JsonObject): Promise<JsonObject>;
  raw(place: Place, method: string, params: JsonObject): Promise<string>;
  send(place: Place, method: string, params: JsonObject): Promise<Response>;
  /** The stream on which the server says that its tools have changed. */
  listen(place: Place): Promise<Response>;
}

export type Family = 'with a session' | 'without a session';

export async function asking(
  family: Family,
  place: Place,
  options: {
    readonly path?: string;
    readonly headers?: Record<string, string>;
    readonly capabilities?: JsonObject;
  } = {},
): Promise<Asking> {
  const { path = '/mcp/up', headers = {}, capabilities = {} } = options;
  const meta = { ...META, 'io.modelcontextprotocol/clientCapabilities': capabilities };
  if (family === 'with a session') {
    const session = await openSession(place, { path, headers });
    return {
      call: (at, method, params) => session.at(at).call(method, params),
      raw: async (at, method, params) => (await session.at(at).request(method, params)).text(),
      send: (at, method, params) => session.at(at).request(method, params),
      listen: (at) => session.at(at).stream(),
    };
  }
  let id = 0;
  const send = (at: Place, method: string, params: JsonObject): Promise<Response> => {
    const named = params.name ?? params.uri ?? params.taskId;
    return fetch(at.url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': MODERN,
        'mcp-method': method,
        ...(typeof named === 'string' && { 'mcp-name': named }),
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: (id += 1), method, params: { ...params, _meta: meta } }),
    });
  };
  return {
    call: async (at, method, params) => {
      const answered = send(at, method, params);
      const own = id;
      return asObject(await responseMessage(await answered, own));
    },
    raw: async (at, method, params) => (await send(at, method, params)).text(),
    send,
    listen: (at) => send(at, 'subscriptions/listen', { notifications: { toolsListChanged: true } }),
  };
}
