import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { RawHandler, RecordedRequest } from '../raw-upstream.ts';
import { answer, type Script } from './answer.ts';
import type { EventStream } from './event-stream.ts';
import { type ClientMessage, errorText, type JsonObject, parseMessages, resultText } from './json-rpc.ts';
import { createSession, type UpstreamSession } from './session.ts';

/** What the endpoint remembers and tests may look at. */
export interface EndpointState extends Script {
  readonly sessions: Map<string, UpstreamSession>;
  /** Stands for all clients while no session ids are given out. */
  readonly stateless: UpstreamSession;
  readonly initializes: JsonObject[];
  readonly cancelled: JsonObject[];
}

/** Streamable HTTP of the revisions with sessions: POST, GET and DELETE of one endpoint. */
export function createEndpoint(state: EndpointState): RawHandler {
  const { behavior, sessions } = state;

  async function post(request: RecordedRequest, res: ServerResponse): Promise<void> {
    const parsed = parseMessages(request.text);
    if (parsed === undefined) return refuse(res, 400, 'Parse error', -32700);
    if (parsed.batch && !behavior.batches) return refuse(res, 400, 'Batches are not supported', -32600);
    const [first] = parsed.messages;
    if (first?.method === 'initialize') return initialize(first, res);
    const session = sessionOf(request, res);
    if (session === undefined) return;

    const questions = parsed.messages.filter(({ method, id }) => method !== undefined && id !== undefined);
    for (const { method, id, params, message } of parsed.messages) {
      if (method === undefined) session.answer(message);
      if (method === 'notifications/cancelled' && id === undefined) {
        state.cancelled.push(params);
        session.cancel(params.requestId);
      }
    }
    if (questions.length === 0) res.writeHead(202).end();
    else await respond(session, questions, parsed.batch, res);
  }

  async function respond(
    session: UpstreamSession,
    questions: readonly ClientMessage[],
    batch: boolean,
    res: ServerResponse,
  ): Promise<void> {
    let stream: EventStream | undefined;
    const openStream = (): EventStream => {
      if (stream !== undefined) return stream;
      stream = session.openCallStream();
      stream.attach(res, undefined);
      prime(session, stream);
      return stream;
    };
    if (behavior.answers === 'sse') openStream();
    const texts: string[] = [];
    await Promise.all(
      questions.map(async (question) => {
        const text = await answer(state, session, question, openStream);
        if (text === undefined) return;
        if (stream === undefined) texts.push(text);
        else stream.send(text);
      }),
    );
    if (stream !== undefined) {
      for (const text of texts) stream.send(text);
      stream.finish();
    } else if (texts.length > 0) {
      res.writeHead(200, { 'content-type': 'application/json' }).end(batch ? `[${texts.join(',')}]` : texts[0]);
    }
  }

  function initialize(message: ClientMessage, res: ServerResponse): void {
    const asked = String(message.params.protocolVersion);
    const protocolVersion = behavior.versions.includes(asked) ? asked : (behavior.versions.at(-1) ?? asked);
    state.initializes.push(message.params);
    if (behavior.sessions) {
      const session = createSession(behavior, protocolVersion, message.params);
      sessions.set(session.sessionId, session);
      res.setHeader('mcp-session-id', session.sessionId);
    }
    const serverInfo = { name: 'scripted-upstream', version: '1.0.0' };
    const { capabilities, instructions } = behavior;
    const result = { protocolVersion, capabilities, serverInfo, instructions };
    const text = resultText(message.idText, JSON.stringify(result));
    if (behavior.answers === 'json') {
      res.writeHead(200, { 'content-type': 'application/json' }).end(text);
    } else {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).end(`event: message\ndata: ${text}\n\n`);
    }
  }

  function get(request: RecordedRequest, res: ServerResponse): void {
    if (behavior.refuseGet) return refuse(res, 405, 'Method not allowed');
    const session = sessionOf(request, res);
    if (session === undefined) return;
    const lastEventId = request.headers['last-event-id'];
    if (behavior.eventIds && typeof lastEventId === 'string') {
      const stream = session.streams().find((candidate) => candidate.sent(lastEventId));
      if (stream === undefined) refuse(res, 400, 'Unknown event id');
      else stream.attach(res, lastEventId);
    } else if (behavior.singleGet && session.getStream.attached) {
      refuse(res, 409, 'Only one stream per session');
    } else {
      session.getStream.attach(res, undefined);
      prime(session, session.getStream);
    }
  }

  function remove(request: RecordedRequest, res: ServerResponse): void {
    if (behavior.refuseDelete) return refuse(res, 405, 'Method not allowed');
    const session = sessionOf(request, res);
    if (session === undefined) return;
    sessions.delete(session.sessionId);
    session.getStream.finish();
    res.writeHead(200).end();
  }

  /** The session of a request. When there is none, answers as the protocol says: 400 without an id, 404 for any other. */
  function sessionOf(request: RecordedRequest, res: ServerResponse): UpstreamSession | undefined {
    if (!behavior.sessions) return state.stateless;
    const sessionId = request.headers['mcp-session-id'];
    const session = typeof sessionId === 'string' ? sessions.get(sessionId) : undefined;
    if (session !== undefined) res.setHeader('mcp-session-id', session.sessionId);
    else if (sessionId === undefined) refuse(res, 400, 'Session id missing');
    else refuse(res, 404, 'Session not found', -32001);
    return session;
  }

  function prime(session: UpstreamSession, stream: EventStream): void {
    if (behavior.eventIds && session.version >= '2025-11-25') stream.prime(behavior.retryMs);
  }

  return async (request, res) => {
    const interception = behavior.intercept(request);
    if (interception === 'destroy') {
      res.destroy();
      return;
    }
    if (interception !== undefined) {
      res.writeHead(interception.status, interception.headers).end(interception.body);
      return;
    }
    if (behavior.headerDelayMs > 0) await delay(behavior.headerDelayMs);
    if (request.method === 'POST') await post(request, res);
    else if (request.method === 'GET') get(request, res);
    else if (request.method === 'DELETE') remove(request, res);
    else refuse(res, 405, 'Method not allowed');
  };
}

function refuse(res: ServerResponse, status: number, message: string, code = -32000): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(errorText('null', code, message));
}
