import { ToolMap } from '../tools/tool-map.ts';
import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';

import type { EffectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import type { Caches } from '../caches.ts';
import type { OwnTool } from '../catalog/catalog.ts';
import type { DisabledTools } from '../catalog/disabled-tools.ts';
import { warningOf } from '../catalog/drift.ts';
import { readCodeArguments } from './code-arguments.ts';
import { codeToolDefinitions, codeToolName } from './text/definitions.ts';
import { answerDiscovery } from './discovery.ts';
import { type Sandbox, type SandboxOutcome } from './sandbox/sandbox.ts';
import { ToolIndex } from './search/tool-index.ts';
import { AdapterError } from '../errors.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import type { MountAdditions } from '../mount/create-mount.ts';
import type { RequestAttributes } from '../exchange/request-attributes.ts';
import { yieldToEventLoop } from '../../lib/stream/yield-to-event-loop.ts';
import { type CallTool, nestedCall } from './nested-call.ts';
import type { SpillSettings } from '../spill/spill-settings.ts';
import { toolTimeouts } from '../tools/settings.ts';
import type { PreparedCall, ToolCall, ToolStep } from '../tools/visible/tool-step.ts';
import { toolPrefix } from '../uploads/upload-url-tool.ts';

export interface CodeModeDeps {
  /** `disabled_tools`, compiled. */
  readonly disabled: DisabledTools;
  readonly caches: Caches;
  readonly sandbox: Sandbox;
  readonly callTool: CallTool;
  /** A call that code has made is over. */
  readonly onCall?: (call: CallOfCode) => void;
}

/** For log and telemetry: these calls are no requests of a client. */
export interface CallOfCode {
  /** Of the request that runs the code. */
  readonly requestId: string;
  readonly serverId: string;
  /** Undefined for a client without sessions. */
  readonly sessionId: string | undefined;
  readonly tool: string;
  /** `ok`, `aborted` by the end of the code, what the gateway has answered instead, else `failed`. */
  readonly outcome: string;
  readonly ms: number;
  /** As those of a request would be when it is over. */
  readonly attributes: RequestAttributes;
  readonly principal: string;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/**
 * `code_mode_enabled`: a server's tools are not listed but found by search and run by code. They stay callable by their
 * names; this saves tokens, and guards nothing.
 */
export function withCodeMode(server: EffectiveServer, additions: MountAdditions, parts: CodeModeDeps): MountAdditions {
  const prefix = toolPrefix(server.id);
  const { disabled, sandbox, caches } = parts;
  const { limits } = sandbox;
  const totalMs = timeOf(toolTimeouts(server)(codeToolName(prefix, 'execute')), limits.totalMs);
  const instead = codeToolDefinitions(prefix, { ...limits, totalMs }).filter(({ name }) => !disabled.matches(name));
  const indexOf = toolIndexes(additions.own, caches);
  const steps = new ToolMap(additions.steps, (tool) => additions.steps.get(tool));
  for (const { tool, name } of instead) {
    steps.set(
      name,
      tool === 'execute' ? executeStep(codeToolName(prefix, 'execute'), parts) : discoveryStep(tool, indexOf),
    );
  }
  const found = new Set(instead.flatMap(({ tool, name }) => (tool === 'execute' ? [] : [name])));
  const { spilling } = additions;
  if (spilling === undefined) return { ...additions, steps, instead };
  // What these find is bounded anyway, and must be read as it is.
  const settingsOf = (tool: string): SpillSettings | undefined =>
    found.has(tool) ? undefined : spilling.settingsOf(tool);
  return { ...additions, steps, instead, spilling: { ...spilling, settingsOf } };
}

type IndexOf = (call: ToolCall) => Promise<ToolIndex>;

/** Indexes of what a session sees; sessions that see the same share one. */
function toolIndexes(own: readonly OwnTool[], caches: Caches): IndexOf {
  const names = new WeakMap<readonly (string | undefined)[], string>();
  const indexes = caches.region<ToolIndex>(({ size }) => size);
  const making = new Map<string, Promise<ToolIndex>>();
  return async (call) => {
    const { shown, drift } = await call.tools();
    let name = names.get(shown);
    if (name === undefined) names.set(shown, (name = randomUUID()));
    const { access } = call.caller;
    const seen = own.filter(({ wish }) => wish === undefined || access?.shows(wish) !== false);
    const key = [name, ...seen.map((tool) => tool.name)].join('\n');
    const known = indexes.get(key) ?? making.get(key);
    if (known !== undefined) return known;
    const all = [...shown.filter((tool) => tool !== undefined), ...seen.map(({ definition }) => definition)];
    const made = ToolIndex.of(all, drift && warningOf(drift), nextTurn);
    making.set(key, made);
    try {
      indexes.set(key, await made);
    } finally {
      making.delete(key);
    }
    return made;
  };
}

function discoveryStep(tool: Parameters<typeof answerDiscovery>[0], indexOf: IndexOf): ToolStep {
  return {
    needsHome: false,
    async prepare(call) {
      const answering = answerDiscovery(tool, call.request.params['arguments'], await indexOf(call));
      const { text, isError } = await yieldToEventLoop(answering);
      return textResult([text], isError);
    },
  };
}

function executeStep(name: string, parts: CodeModeDeps): ToolStep {
  const { sandbox } = parts;
  return {
    needsHome: false,
    runsOthers: true,
    async prepare(call) {
      const { caller, record } = call;
      const read = readCodeArguments('execute', call.request.params['arguments']);
      if (!read.ok) return textResult([read.problem], true);
      using end = endOf(call, sandbox.limits.totalMs);
      const outcome = await sandbox.run({
        code: read.args.code,
        signal: end.signal,
        owner: isWorkspace(record) ? callerWithoutSession(caller) : record.sessionId,
        callTool: (tool, args, signal) => {
          if (tool === name) throw new Error(`${name} cannot be called by code that it runs.`);
          return callOfCode(parts, call, { tool, args }, signal);
        },
      });
      const reason: unknown = end.signal.aborted ? end.signal.reason : undefined;
      if (reason instanceof AdapterError) return { kind: 'error', error: reason };
      if (outcome.kind === 'returned') return textResult(words(outcome), false);
      caller.attributes.reason = outcome.reason;
      if (outcome.reason !== 'aborted') return textResult(words(outcome), true);
      // Nobody but the process itself ends the sandbox.
      if (reason === undefined) return { kind: 'error', error: new AdapterError('draining') };
      caller.attributes.reason = 'total_time';
      return textResult(words({ ...outcome, message: (reason as Error).message }), true);
    },
  };
}

/** What may be said of a call of which only the tool's result is an error; its inner connection may be closed first. */
const FINE: ReadonlySet<string | undefined> = new Set(['ok', 'answered', 'client_closed']);

async function callOfCode(
  { callTool, onCall }: CodeModeDeps,
  call: ToolCall,
  { tool, args }: { readonly tool: string; readonly args: Record<string, unknown> },
  signal: AbortSignal,
): Promise<string> {
  const { requestId, caller, client } = call.caller.attributes;
  const { serverId } = call.record;
  const sessionId = isWorkspace(call.record) ? undefined : call.record.sessionId;
  const attributes: RequestAttributes = { requestId, caller, client, serverId, tool };
  if (sessionId !== undefined) attributes.sessionId = sessionId;
  const nested = { tool, args, attributes, bytes: 0 };
  const started = performance.now();
  let outcome = 'ok';
  let bytesOut = 0;
  try {
    const result = await nestedCall(callTool, call, nested, signal);
    bytesOut = Buffer.byteLength(result);
    return result;
  } catch (error) {
    outcome = signal.aborted ? 'aborted' : FINE.has(attributes.outcome) ? 'failed' : (attributes.outcome ?? 'failed');
    throw error;
  } finally {
    const ms = performance.now() - started;
    // A copy: what ends the inner connection comes later. A tool that fails has been called all the same.
    const isToolError = outcome === 'failed' && attributes.failure !== undefined;
    const ended = { ...attributes, outcome: isToolError ? 'ok' : outcome };
    const { principal } = call.caller;
    const usage = { attributes: ended, principal, bytesIn: nested.bytes, bytesOut };
    onCall?.({ requestId, serverId, sessionId, tool, outcome, ms, ...usage });
  }
}

/** What code may take at the longest, in milliseconds: it is a call of a tool as others are. */
function timeOf(timeoutMs: number | null, totalMs: number): number {
  return Math.min(totalMs, timeoutMs ?? totalMs);
}

/** Aborted when nobody waits for a call any more, with an AdapterError, or its time is over, with another Error. */
function endOf({ signal, timeoutMs }: ToolCall, totalMs: number): Disposable & { signal: AbortSignal } {
  const limitMs = timeOf(timeoutMs, totalMs);
  const whose = limitMs < totalMs ? 'the tool_call_timeout_seconds of this server' : 'the most that code may take';
  const late = `the run took longer than ${limitMs / 1000} s, ${whose}; its calls may have had effects already`;
  const time = new AbortController();
  const timer = setTimeout(() => time.abort(new Error(late)), limitMs);
  return {
    signal: AbortSignal.any([signal, time.signal]),
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

function words(outcome: SandboxOutcome): string[] {
  const said = outcome.console === '' ? [] : [`Console:\n${outcome.console}`];
  if (outcome.kind === 'failed') return [outcome.message, ...said];
  const { value } = outcome;
  if (value === undefined) return ['The code has returned nothing.', ...said];
  const parsed: unknown = JSON.parse(value);
  return [typeof parsed === 'string' ? parsed : value, ...said];
}

function textResult(texts: readonly string[], isError: boolean): PreparedCall {
  const content = texts.map((text) => ({ type: 'text', text }));
  return { kind: 'result', result: JSON.stringify(isError ? { content, isError } : { content }) };
}

/** Clients without sessions are told apart by their token and their address; who has many addresses has many places. */
const callerWithoutSession = ({ principal, request }: ToolCall['caller']): string =>
  `${principal}\n${request.ip ?? ''}`;
