import { responseMessage } from '../../../support/raw-client.ts';
import { asObject, type JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import { initialize, type Place } from '../../kit/session.ts';

export const FAMILIES = ['2025-11-25', '2026-07-28'] as const;
export type Family = (typeof FAMILIES)[number];

/** What a caller got: the thing, that there is no such thing, the way to another scope, or that it may not. */
export type Got = 'yes' | 'unknown' | 'scope' | 'forbidden' | (string & {});

export interface Answered {
  readonly got: Got;
  readonly result: JsonObject;
}

/** One caller at one mount, at one replica after the other. */
export interface Doors {
  /** All answers to `ask`, as text. */
  readonly seen: string[];
  ask(method: string, params?: JsonObject): Promise<Answered>;
  /** The same session with another token of its caller. */
  as(headers: Record<string, string>): Doors;
  /** A request beside MCP, with the caller's token and session. */
  fetch(path: string, init?: RequestInit): Promise<Got>;
}

export interface DoorOptions {
  readonly family: Family;
  readonly server: string;
  readonly places: readonly Place[];
  readonly headers: Record<string, string>;
}

const REVISION = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  'io.modelcontextprotocol/clientInfo': { name: 'e2e', version: '1' },
};
const UNKNOWN = new Set(['unknown_tool', 'unknown_prompt', 'unknown_resource', 'unknown_task', 'artifact_not_found']);

export async function openDoors(options: DoorOptions): Promise<Doors> {
  const { family } = options;
  const opened = family === REVISION ? undefined : await sessionOf(options);
  return doorsOf(options, opened);
}

async function sessionOf({ server, places: [first], headers }: DoorOptions): Promise<string> {
  const opened = await initialize({ url: first?.url ?? '' }, { path: `/mcp/${server}`, headers });
  const session = opened.headers.get('mcp-session-id');
  await opened.text();
  if (session === null) throw new Error(`no session: ${opened.status}`);
  return session;
}

function doorsOf(options: DoorOptions, session: string | undefined): Doors {
  const { family, server, places, headers } = options;
  const path = `/mcp/${server}`;
  let lastId = 0;
  let turn = 0;
  const next = (): string => {
    const place = places[turn % places.length];
    turn += 1;
    return place?.url ?? '';
  };
  const own = (): Record<string, string> => (session === undefined ? {} : { 'mcp-session-id': session });

  const seen: string[] = [];
  return {
    seen,
    as: (others) => doorsOf({ ...options, headers: others }, session),
    async ask(method, params = {}) {
      const isSessionless = family === REVISION;
      // Requests under way in one session must differ in it: a server may answer only the last of those that do not.
      const id = (lastId += 1);
      const body = { jsonrpc: '2.0', id, method, params: isSessionless ? { ...params, _meta: META } : params };
      const name = params.name ?? params.uri ?? params.taskId;
      const modern: Record<string, string> = { 'mcp-protocol-version': REVISION, 'mcp-method': method };
      if (typeof name === 'string') modern['mcp-name'] = name;
      const abort = new AbortController();
      const response = await fetch(next() + path, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
          ...(isSessionless ? modern : own()),
        },
        body: JSON.stringify(body),
        signal: abort.signal,
      });
      if (method === 'subscriptions/listen' && response.headers.get('content-type') === 'text/event-stream') {
        abort.abort();
        return { got: 'yes', result: {} };
      }
      const message = await responseMessage(response, id);
      seen.push(JSON.stringify(message));
      if (message.error === undefined) return { got: 'yes', result: asObject(message.result) };
      const code = String(asObject(asObject(message.error).data).code);
      return { got: gotBy(code, response), result: {} };
    },
    async fetch(at, init) {
      const response = await fetch(next() + at, { ...init, headers: { ...headers, ...own() } });
      const text = await response.text();
      if (response.ok) return 'yes';
      return gotBy(String((JSON.parse(text) as { code: unknown }).code), response);
    },
  };
}

function gotBy(code: string, response: Response): Got {
  if (UNKNOWN.has(code)) return 'unknown';
  if (code === 'forbidden') return 'forbidden';
  if (code !== 'insufficient_scope') return code;
  const challenge = response.headers.get('www-authenticate') ?? '';
  const isWay = response.status === 403 && challenge.includes('error="insufficient_scope"');
  return isWay && /scope="[^"]*\bfiles\b/.test(challenge) ? 'scope' : `${response.status} ${challenge}`;
}
