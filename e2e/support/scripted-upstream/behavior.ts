import type { OutgoingHttpHeaders } from 'node:http';
import type { RecordedRequest } from '../raw-upstream.ts';
import type { JsonObject } from './json-rpc.ts';

/** What to do with a request instead of the usual: answer it so, or break the connection without an answer. */
export type Interception = { status: number; headers?: OutgoingHttpHeaders; body?: string } | 'destroy';

/** How the scripted upstream behaves. All of it may be changed while it runs; it counts from the next request. */
export interface Behavior {
  /** How a request is answered that needs no stream. Default: json. */
  answers: 'json' | 'sse';
  /** Give out session ids and insist on them. Default: true. */
  sessions: boolean;
  /** Protocol versions that are accepted; the last one is offered to clients that ask for another. */
  versions: string[];
  capabilities: JsonObject;
  /** What it says of itself to models. Default: nothing. */
  instructions: string | undefined;
  /** Refuse GET with 405. Default: false. */
  refuseGet: boolean;
  /** Refuse a GET with 409 while another one is open, as SDK servers do; else the newer one wins. Default: true. */
  singleGet: boolean;
  /** Refuse DELETE with 405. Default: false. */
  refuseDelete: boolean;
  /** Give events ids, keep them, and resume streams with `Last-Event-ID`. Default: false. */
  eventIds: boolean;
  /** `retry` of priming events in milliseconds, sent with event ids from version 2025-11-25 on. Default: none. */
  retryMs: number | undefined;
  /** Accept arrays of messages, as 2025-03-26 demands. Default: true. */
  batches: boolean;
  /** Tools per page of `tools/list`. Default: all. */
  pageSize: number | undefined;
  /** Milliseconds to wait before anything of an answer is sent. Default: 0. */
  headerDelayMs: number;
  /** Looked at first, for every request. Default: nothing is intercepted. */
  intercept: (request: RecordedRequest) => Interception | undefined;
}

export const defaultBehavior = (): Behavior => ({
  answers: 'json',
  sessions: true,
  versions: ['2025-03-26', '2025-06-18', '2025-11-25'],
  capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, prompts: {}, logging: {} },
  instructions: undefined,
  refuseGet: false,
  singleGet: true,
  refuseDelete: false,
  eventIds: false,
  retryMs: undefined,
  batches: true,
  pageSize: undefined,
  headerDelayMs: 0,
  intercept: () => undefined,
});
