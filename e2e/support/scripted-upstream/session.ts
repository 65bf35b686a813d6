import { randomUUID } from 'node:crypto';
import type { Behavior } from './behavior.ts';
import { createEventStream, type EventStream } from './event-stream.ts';
import { asObject, type JsonObject, type RequestId } from './json-rpc.ts';

/** What one client of the upstream has: its streams, the questions that it has not answered, its running calls. */
export interface UpstreamSession {
  readonly sessionId: string;
  readonly version: string;
  /** `params` of the `initialize` that opened it. */
  readonly initializeParams: JsonObject;
  /** The stream of GET, for messages that belong to no call. */
  readonly getStream: EventStream;
  openCallStream(): EventStream;
  /** All streams so far: that of GET and those of calls. */
  streams(): readonly EventStream[];
  /** Sends a request of the server on `stream`; resolves with the client's answer, a message with result or error. */
  ask(stream: EventStream, method: string, params: unknown): Promise<JsonObject>;
  /** Takes a client's answer. False when nobody asked. */
  answer(message: JsonObject): boolean;
  /** Notes a running call, so that `notifications/cancelled` finds it. */
  startCall(id: RequestId): AbortSignal;
  endCall(id: RequestId): void;
  cancel(id: unknown): void;
}

export function createSession(behavior: Behavior, version: string, initializeParams: JsonObject): UpstreamSession {
  const sessionId = randomUUID();
  let events = 0;
  let questions = 0;
  const waiting = new Map<unknown, (answer: JsonObject) => void>();
  const calls = new Map<unknown, AbortController>();
  const streams: EventStream[] = [];

  function open(streamId: string): EventStream {
    const nextEventId = (): string => `${streamId}/${(events += 1)}`;
    const stream = createEventStream(streamId, behavior.eventIds ? nextEventId : undefined);
    streams.push(stream);
    return stream;
  }
  const getStream = open('get');

  return {
    sessionId,
    version,
    initializeParams,
    getStream,
    openCallStream: () => open(`call-${streams.length}`),
    streams: () => streams,
    ask(stream, method, params) {
      questions += 1;
      const id = `${sessionId.slice(0, 8)}-${questions}`;
      return new Promise((resolve) => {
        waiting.set(id, resolve);
        stream.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
      });
    },
    answer(message) {
      const resolve = waiting.get(message.id);
      waiting.delete(message.id);
      resolve?.(asObject(message));
      return resolve !== undefined;
    },
    startCall(id) {
      const controller = new AbortController();
      calls.set(id, controller);
      return controller.signal;
    },
    endCall: (id) => void calls.delete(id),
    cancel: (id) => calls.get(id)?.abort(),
  };
}
