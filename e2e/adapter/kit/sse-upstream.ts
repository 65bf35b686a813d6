import type { ServerResponse } from 'node:http';
import { type RawUpstream, type RecordedRequest, startRawUpstream } from '../../support/raw-upstream.ts';
import { answer, type Script, standardMethods } from '../../support/scripted-upstream/answer.ts';
import { defaultBehavior } from '../../support/scripted-upstream/behavior.ts';
import {
  asObject,
  errorText,
  type JsonObject,
  parseMessages,
  resultText,
} from '../../support/scripted-upstream/json-rpc.ts';
import { createSession, type UpstreamSession } from '../../support/scripted-upstream/session.ts';
import { type ScriptedTool, standardTools } from '../../support/scripted-upstream/tools.ts';

/** A server of HTTP+SSE (2024-11-05) with the tools of the scripted upstream, under full control. */
export interface SseUpstream extends Omit<RawUpstream, 'url'> {
  /** Where the event stream is. */
  readonly url: string;
  readonly tools: Map<string, ScriptedTool>;
  /** The sessions whose streams are open, by id. */
  readonly sessions: ReadonlyMap<string, UpstreamSession>;
  /** `params` of every `initialize`. */
  readonly initializes: readonly JsonObject[];
  readonly cancelled: readonly JsonObject[];
  /** How many streams were opened so far. */
  readonly opened: number;
  /** When true, `initialize` is answered with an error. */
  refusesInitialize: boolean;
  /** A stream is opened only when this has resolved. */
  gate: Promise<void>;
  requestsOf(method: string): RecordedRequest[];
  release(key: string): void;
}

/** Closing its event stream ends a session, as that transport has it; POSTs to it give 404 from then on. */
export async function startSseUpstream(): Promise<SseUpstream> {
  const behavior = defaultBehavior();
  const sessions = new Map<string, UpstreamSession>();
  const initializes: JsonObject[] = [];
  const cancelled: JsonObject[] = [];
  const releases = new Map<string, PromiseWithResolvers<void>>();
  function releaseOf(key: string): PromiseWithResolvers<void> {
    const known = releases.get(key) ?? Promise.withResolvers<void>();
    releases.set(key, known);
    return known;
  }
  const script: Script = {
    behavior,
    tools: standardTools(),
    methods: standardMethods(),
    released: (key) => releaseOf(key).promise,
  };

  let opened = 0;
  function open(res: ServerResponse): void {
    opened += 1;
    const session = createSession(behavior, '2024-11-05', {});
    session.getStream.attach(res, undefined);
    res.write(`event: endpoint\ndata: /messages?sessionId=${session.sessionId}\n\n`);
    sessions.set(session.sessionId, session);
    res.once('close', () => sessions.delete(session.sessionId));
  }

  function take(session: UpstreamSession, text: string): boolean {
    const parsed = parseMessages(text);
    for (const message of parsed?.messages ?? []) {
      const { method, id, idText, params } = message;
      if (method === undefined) session.answer(message.message);
      else if (method === 'initialize') initialize(session, idText, params);
      else if (id !== undefined)
        void reply(
          session,
          answer(script, session, message, () => session.getStream),
        );
      else if (method === 'notifications/cancelled') {
        cancelled.push(params);
        session.cancel(params.requestId);
      }
    }
    return parsed !== undefined;
  }

  async function reply(session: UpstreamSession, response: Promise<string | undefined>): Promise<void> {
    const text = await response;
    if (text !== undefined) session.getStream.send(text);
  }

  function initialize(session: UpstreamSession, idText: string, params: JsonObject): void {
    if (upstream.refusesInitialize) {
      session.getStream.send(errorText(idText, -32602, 'Not today'));
      return;
    }
    initializes.push(params);
    const serverInfo = { name: 'sse-upstream', version: '1.0.0' };
    const result = { protocolVersion: '2024-11-05', capabilities: behavior.capabilities, serverInfo };
    session.getStream.send(resultText(idText, JSON.stringify(result)));
  }

  const raw = await startRawUpstream(async ({ method, path, text }, res) => {
    const url = new URL(path, 'http://upstream');
    const session = sessions.get(url.searchParams.get('sessionId') ?? '');
    if (method === 'GET' && url.pathname === '/sse') {
      await upstream.gate;
      open(res);
    } else if (method !== 'POST' || session === undefined) res.writeHead(404).end();
    else res.writeHead(take(session, text) ? 202 : 400).end();
  });
  const upstream: SseUpstream = {
    ...raw,
    url: `${raw.url}/sse`,
    tools: script.tools,
    sessions,
    initializes,
    cancelled,
    get opened() {
      return opened;
    },
    refusesInitialize: false,
    gate: Promise.resolve(),
    requestsOf: (method) => raw.requests.filter(({ json }) => asObject(json).method === method),
    release: (key) => releaseOf(key).resolve(),
  };
  return upstream;
}
