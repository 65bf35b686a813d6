import { type ErrorCode, ERRORS } from '../../errors.ts';
import { callsOf, type RequestAttributes } from '../../exchange/request-attributes.ts';
import type { Aggregation } from './aggregation.ts';
import { Combinations } from './combinations.ts';
import {
  httpMethodLabel,
  protocolVersionLabel,
  rpcCodeLabel,
  rpcMethodLabel,
  serverLabel,
  statusClass,
} from '../labels.ts';
import { ADAPTER_METRICS } from './metric-catalog.ts';
import { authRejection, CREDENTIAL_BACKEND, errorType, rejection, toolCallResult } from '../outcome-labels.ts';
import type { CounterSeries, HistogramSeries } from './series.ts';
import type { NestedCallObservation, RequestObservation, UpstreamCallObservation } from '../telemetry.ts';
import type { ToolNames } from '../tool-names.ts';

/** Combinations of what requests differ in; there are few that occur often. */
const MAX_COMBINATIONS = 2_000;

/** What is counted for a request without looking at it once more. */
interface RequestSeries {
  readonly counters: readonly CounterSeries[];
  /** Of the seconds until its answer has left. */
  readonly durations: readonly HistogramSeries[];
}

interface CallSeries {
  readonly calls: CounterSeries;
  readonly duration: HistogramSeries;
}

/** What ended requests add to metrics. All that comes from outside is mapped to bounded labels before it is kept. */
export class RequestMetrics {
  readonly #serverIds: ReadonlySet<string>;
  readonly #tools: Pick<ToolNames, 'label' | 'worked'>;
  readonly #requests = new Combinations<RequestSeries>(MAX_COMBINATIONS);
  readonly #calls = new Combinations<CallSeries>(MAX_COMBINATIONS);
  readonly #upstream = new Combinations<HistogramSeries>(MAX_COMBINATIONS);
  readonly #instruments;

  constructor(aggregation: Aggregation, serverIds: ReadonlySet<string>, tools: Pick<ToolNames, 'label' | 'worked'>) {
    this.#serverIds = serverIds;
    this.#tools = tools;
    this.#instruments = {
      requests: aggregation.counter(ADAPTER_METRICS.httpRequests),
      duration: aggregation.histogram(ADAPTER_METRICS.httpDuration),
      authRejections: aggregation.counter(ADAPTER_METRICS.authRejections),
      rejections: aggregation.counter(ADAPTER_METRICS.requestRejections),
      toolCalls: aggregation.counter(ADAPTER_METRICS.toolCalls),
      toolCallDuration: aggregation.histogram(ADAPTER_METRICS.toolCallDuration),
      server: aggregation.histogram(ADAPTER_METRICS.serverOperation),
      client: aggregation.histogram(ADAPTER_METRICS.clientOperation),
    };
  }

  request(observed: RequestObservation): void {
    const { attributes, seconds } = observed;
    this.#learn(attributes);
    const serverId = serverLabel(this.#serverIds, observed.serverId ?? attributes.serverId);
    const operation = this.#operationOf(serverId, attributes);
    const method = httpMethodLabel(observed.method);
    const { route, status, isEventStream } = observed;
    const { rpcMethod, tool, error, rpcCode, revision } = operation;
    const isBackend = attributes.reason === CREDENTIAL_BACKEND;
    const { counters, durations } = this.#requests.get(
      [serverId, method, route, status, rpcMethod, tool, error, rpcCode, revision, isBackend, isEventStream],
      () => this.#seriesOf(observed, operation, method),
    );
    for (const counter of counters) counter.add(1);
    for (const duration of durations) duration.record(seconds);
    this.#count(operation, attributes, seconds);
  }

  nestedCall({ attributes, seconds }: NestedCallObservation): void {
    this.#learn(attributes);
    const operation = this.#operationOf(serverLabel(this.#serverIds, attributes.serverId), attributes);
    this.#count(operation, attributes, seconds);
  }

  upstreamCall({ serverId, method, tool, seconds, errorType: error, protocolVersion }: UpstreamCallObservation): void {
    const rpcCode = typeof error === 'number' ? rpcCodeLabel(error) : undefined;
    const operation = {
      serverId: serverLabel(this.#serverIds, serverId),
      rpcMethod: rpcMethodLabel(method),
      tool: tool === undefined ? undefined : this.#tools.label(serverId, tool),
      error: rpcCode ?? errorType({ outcome: error as string | undefined }, undefined),
      rpcCode,
      revision: protocolVersionLabel(protocolVersion),
    };
    this.#clientSeries(operation).record(seconds);
  }

  /** Before their names are looked at. */
  #learn(attributes: Readonly<RequestAttributes>): void {
    for (const { tool = '', failure } of callsOf(attributes)) {
      if (toolCallResult(attributes, failure) === 'success') this.#tools.worked(attributes.serverId, tool);
    }
  }

  /** Tool calls, and the exchange with the upstream. */
  #count(operation: Operation, attributes: Readonly<RequestAttributes>, seconds: number): void {
    const { serverId } = operation;
    for (const { tool = '', failure } of callsOf(attributes)) {
      const labels = {
        server_id: serverId,
        tool_name: this.#tools.label(attributes.serverId, tool),
        result: toolCallResult(attributes, failure),
      };
      const { calls, duration } = this.#calls.get([serverId, labels.tool_name, labels.result], () => ({
        calls: this.#instruments.toolCalls.series(labels),
        duration: this.#instruments.toolCallDuration.series(labels),
      }));
      calls.add(1);
      duration.record(seconds);
    }
    if (attributes.upstreamMs !== undefined) this.#clientSeries(operation).record(attributes.upstreamMs / 1000);
  }

  #clientSeries(operation: Operation): HistogramSeries {
    const { serverId, rpcMethod, tool, error, rpcCode, revision } = operation;
    return this.#upstream.get([serverId, rpcMethod, tool, error, rpcCode, revision], () =>
      this.#instruments.client.series(operationLabels(operation)),
    );
  }

  #operationOf(serverId: string, attributes: Readonly<RequestAttributes>): Operation {
    return {
      serverId,
      rpcMethod: rpcMethodLabel(attributes.rpcMethod),
      tool: attributes.tool === undefined ? undefined : this.#tools.label(attributes.serverId, attributes.tool),
      error: errorType(attributes, attributes.failure),
      rpcCode: rpcCodeOf(attributes),
      revision: protocolVersionLabel(attributes.protocolVersion),
    };
  }

  #seriesOf(observed: RequestObservation, operation: Operation, method: string): RequestSeries {
    const { attributes, route, status, isEventStream } = observed;
    const { requests, duration, authRejections, rejections, server } = this.#instruments;
    const answered = { 'http.response.status_code': status, 'http.response.status_class': statusClass(status) };
    const at = { server_id: operation.serverId, 'adapter.route_group': route };
    const labels = { ...at, ...answered, 'http.request.method': method };
    const refused = authRejection(attributes, route);
    const rejected = rejection(attributes);
    return {
      counters: [
        requests.series(labels),
        ...(refused === undefined ? [] : [authRejections.series({ ...at, reason: refused })]),
        ...(rejected === undefined ? [] : [rejections.series({ ...at, ...answered, reason: rejected })]),
      ],
      durations: isEventStream
        ? []
        : [
            duration.series(labels),
            ...(operation.rpcMethod === undefined ? [] : [server.series(operationLabels(operation))]),
          ],
    };
  }
}

/** A request as OpenTelemetry's conventions for MCP describe it, every value bounded. */
interface Operation {
  readonly serverId: string;
  readonly rpcMethod: string | undefined;
  readonly tool: string | undefined;
  readonly error: string | undefined;
  readonly rpcCode: string | undefined;
  readonly revision: string | undefined;
}

function operationLabels({ serverId, rpcMethod, tool, error, rpcCode, revision }: Operation) {
  return {
    'mcp.method.name': rpcMethod,
    'gen_ai.operation.name': rpcMethod === 'tools/call' ? 'execute_tool' : undefined,
    'gen_ai.tool.name': tool,
    'error.type': error,
    'rpc.response.status_code': rpcCode,
    'mcp.protocol.version': revision,
    'network.transport': 'tcp',
    'mcp_adapter.server.id': serverId,
  } as const;
}

/** Of the JSON-RPC error that the client was sent, whoever has made it. */
function rpcCodeOf({ outcome, failure }: Readonly<RequestAttributes>): string | undefined {
  if (typeof failure === 'number') return rpcCodeLabel(failure);
  return outcome !== undefined && Object.hasOwn(ERRORS, outcome) ? String(ERRORS[outcome as ErrorCode].rpc) : undefined;
}
