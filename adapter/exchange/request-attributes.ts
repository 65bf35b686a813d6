import type { Failure, RecordedAnswers } from './answer-watch.ts';
import type { RequestTrace } from './request-trace.ts';

/** What is found out about a request on its way; what only telemetry asks for, only where it is on. */
export interface RequestAttributes extends RecordedAnswers {
  readonly requestId: string;
  /** Who is calling, as the configuration or a token names it: `token:ci`, `user:anna`. */
  caller?: string;
  /** The client that got that token. */
  client?: string;
  serverId?: string;
  sessionId?: string;
  rpcMethod?: string;
  tool?: string;
  /** `ok`, an error code of ours, or how the exchange ended else. */
  outcome?: string;
  /** Why code that was run has failed, or what of several things that one outcome stands for. */
  reason?: string;
  /** The revision that the client speaks. */
  protocolVersion?: string;
  /** The span of the request, with traces. */
  trace?: RequestTrace['context'];
  /** Keyed hash of the JSON text of the call's arguments. */
  argumentsHash?: string;
  /** The tool calls of a batch; `tool` is not set then. */
  calls?: CallAttributes[];
}

/** One tool call of several. */
export interface CallAttributes {
  readonly tool: string;
  /** JSON text of the request's id. */
  readonly idText: string;
  failure?: Failure;
  argumentsHash?: string;
}

/** The tool calls of a request: usually one or none. */
export function callsOf(
  attributes: Readonly<RequestAttributes>,
): readonly Pick<RequestAttributes, 'tool' | 'failure' | 'argumentsHash'>[] {
  return attributes.calls ?? (attributes.tool === undefined ? NO_CALLS : [attributes]);
}

const NO_CALLS: readonly CallAttributes[] = [];
