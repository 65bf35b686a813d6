import { type RawUpstream, type RecordedRequest, startRawUpstream } from '../raw-upstream.ts';
import { type ScriptedMethod, standardMethods } from './answer.ts';
import { type Behavior, defaultBehavior } from './behavior.ts';
import { createEndpoint, type EndpointState } from './endpoint.ts';
import { asObject, type JsonObject, notificationText } from './json-rpc.ts';
import { createSession, type UpstreamSession } from './session.ts';
import { type ScriptedTool, standardTools } from './tools.ts';

export interface ScriptedUpstream extends Omit<RawUpstream, 'url'> {
  /** The MCP endpoint. */
  readonly url: string;
  readonly behavior: Behavior;
  /** What `tools/list` shows and `tools/call` calls, in this order. Change it at will; see `announceToolsChanged`. */
  readonly tools: Map<string, ScriptedTool>;
  /** The other methods by name. */
  readonly methods: Map<string, ScriptedMethod>;
  /** The sessions that are known now, by id. */
  readonly sessions: ReadonlyMap<string, UpstreamSession>;
  /** `params` of every `initialize` that opened a session. */
  readonly initializes: readonly JsonObject[];
  /** `params` of every `notifications/cancelled`. */
  readonly cancelled: readonly JsonObject[];
  /** The requests that carried a message of this JSON-RPC method, in a batch too. */
  requestsOf(method: string): RecordedRequest[];
  /** The first one of them, past or future. Rejects after `timeoutMs` (default 5 s). */
  waitForMessage(method: string, timeoutMs?: number): Promise<RecordedRequest>;
  /** Lets calls go on that wait for `key`, now or later. */
  release(key: string): void;
  /** Sends `notifications/tools/list_changed` on the GET stream of every session. */
  announceToolsChanged(): void;
  /** As after a restart without memory: every known session id gives 404, and the GET streams end. */
  forgetSessions(): void;
  /** Breaks the connections of all open streams. Calls go on, and their streams can be resumed if events have ids. */
  breakStreams(): void;
}

/** A server of the revisions with sessions (2025-03-26 … 2025-11-25), written without an SDK, under full control. */
export async function startScriptedUpstream(overrides: Partial<Behavior> = {}): Promise<ScriptedUpstream> {
  const behavior: Behavior = { ...defaultBehavior(), ...overrides };
  const releases = new Map<string, PromiseWithResolvers<void>>();
  function releaseOf(key: string): PromiseWithResolvers<void> {
    const known = releases.get(key) ?? Promise.withResolvers<void>();
    releases.set(key, known);
    return known;
  }
  const state: EndpointState = {
    behavior,
    tools: standardTools(),
    methods: standardMethods(),
    released: (key) => releaseOf(key).promise,
    sessions: new Map(),
    stateless: createSession(behavior, '2025-11-25', {}),
    initializes: [],
    cancelled: [],
  };
  const { sessions, stateless, tools, methods, initializes, cancelled } = state;

  const raw = await startRawUpstream(createEndpoint(state));
  return {
    ...raw,
    url: `${raw.url}/mcp`,
    behavior,
    tools,
    methods,
    sessions,
    initializes,
    cancelled,
    requestsOf: (method) => raw.requests.filter((request) => carries(request, method)),
    waitForMessage: (method, timeoutMs) => raw.waitForRequest((request) => carries(request, method), timeoutMs),
    release: (key) => releaseOf(key).resolve(),
    announceToolsChanged() {
      const text = notificationText('notifications/tools/list_changed', undefined);
      for (const session of [stateless, ...sessions.values()]) session.getStream.send(text);
    },
    forgetSessions() {
      const forgotten = [...sessions.values()];
      sessions.clear();
      for (const session of forgotten) session.getStream.finish();
    },
    breakStreams() {
      for (const session of [stateless, ...sessions.values()])
        for (const stream of session.streams()) stream.breakOff();
    },
  };
}

/** Whether the body is, or as a batch holds, a message of this method. */
const carries = (request: RecordedRequest, method: string): boolean =>
  (Array.isArray(request.json) ? request.json : [request.json]).some((one) => asObject(one).method === method);
