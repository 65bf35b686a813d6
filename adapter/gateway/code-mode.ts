import { setImmediate as nextTurn } from 'node:timers/promises';

import type { EffectiveServer } from '../../crds/config/effective-server.ts';
import { disabledTools } from '../catalog/disabled-tools.ts';
import { warningOf } from '../catalog/drift.ts';
import { readCodeArguments } from '../code-mode/code-arguments.ts';
import { codeToolDefinitions, codeToolName } from '../code-mode/definitions.ts';
import { answerDiscovery } from '../code-mode/discovery.ts';
import { type Sandbox, type SandboxOutcome } from '../code-mode/sandbox.ts';
import { ToolIndex } from '../code-mode/tool-index.ts';
import { AdapterError } from '../errors.ts';
import type { MessageBus } from '../state/message-bus.ts';
import type { MountAdditions } from './mount.ts';
import { nestedCall, type Post } from './nested-call.ts';
import type { PreparedCall, ToolCall, ToolStep } from './tool-step.ts';
import { toolPrefix } from './upload-url-tool.ts';
import { isWorkspace } from './workspaces.ts';

/** Of all the code that runs at a time, so much may be of one session: others find room too. */
const MAX_OF_SESSION = 4;

export interface CodeModeParts {
  readonly sandbox: Sandbox;
  readonly bus: Pick<MessageBus, 'onControl'>;
  readonly post: Post;
}

/**
 * `code_mode_enabled`: a server's tools are not listed but found by search and run by code. They stay callable by their
 * names; this saves tokens, and guards nothing.
 */
export function withCodeMode(server: EffectiveServer, additions: MountAdditions, parts: CodeModeParts): MountAdditions {
  const { matches } = disabledTools(server.disabled_tools);
  const prefix = toolPrefix(server.id);
  const instead = codeToolDefinitions(prefix, parts.sandbox.limits).filter(({ name }) => !matches(name));
  const indexOf = toolIndexes(additions.own.map(({ definition }) => definition));
  const steps = new Map(additions.steps);
  for (const { tool, name } of instead) {
    steps.set(
      name,
      tool === 'execute' ? executeStep(codeToolName(prefix, 'execute'), parts) : discoveryStep(tool, indexOf),
    );
  }
  return { ...additions, steps, instead };
}

type IndexOf = (call: ToolCall) => Promise<ToolIndex>;

/** Indexes of what a session sees; sessions that see the same share one. */
function toolIndexes(own: readonly string[]): IndexOf {
  const indexes = new WeakMap<readonly (string | undefined)[], Promise<ToolIndex>>();
  return async ({ turn, record }) => {
    const { shown, drift } = await turn.mount.surface.tools(turn, record);
    let index = indexes.get(shown);
    if (index === undefined) {
      const all = [...shown.filter((tool) => tool !== undefined), ...own];
      index = ToolIndex.of(all, drift && warningOf(drift), nextTurn);
      indexes.set(shown, index);
      index.catch(() => indexes.delete(shown));
    }
    return index;
  };
}

function discoveryStep(tool: Parameters<typeof answerDiscovery>[0], indexOf: IndexOf): ToolStep {
  return {
    needsHome: false,
    async prepare(call) {
      const { text, isError } = answerDiscovery(tool, call.request.params['arguments'], await indexOf(call));
      return textResult([text], isError);
    },
  };
}

function executeStep(name: string, { sandbox, bus, post }: CodeModeParts): ToolStep {
  const running = new Map<string, number>();
  return {
    needsHome: false,
    runsOthers: true,
    async prepare(call) {
      const read = readCodeArguments('execute', call.request.params['arguments']);
      if (!read.ok) return textResult([read.problem], true);
      // Clients without sessions cannot be told apart.
      const key = isWorkspace(call.record) ? '' : call.record.sessionId;
      const others = running.get(key) ?? 0;
      if (key !== '' && others >= MAX_OF_SESSION) return textResult([tooMuch(others)], true);
      // The code asks nothing of the upstream by itself; of its calls each may be a probe.
      call.turn.admitted.finished('ok');
      const end = endOf(call, bus);
      running.set(key, others + 1);
      try {
        const outcome = await sandbox.run({
          code: read.args.code,
          signal: end.signal,
          callTool: (tool, args, signal) => {
            if (tool === name) throw new Error(`${name} cannot be called by code that it runs.`);
            return nestedCall(post, call, tool, args, signal);
          },
        });
        if (end.signal.aborted) return { kind: 'error', error: end.signal.reason as AdapterError };
        return textResult(words(outcome), outcome.kind === 'failed');
      } finally {
        end[Symbol.dispose]();
        const left = (running.get(key) ?? 1) - 1;
        if (left > 0) running.set(key, left);
        else running.delete(key);
      }
    },
  };
}

const tooMuch = (running: number): string =>
  `${running} other pieces of code of this session are running: wait for one of them, or do more in one.`;

/** Tells when nobody waits for a call any more: it was cancelled, its session has ended, its client has gone. */
function endOf(
  { turn, record, request }: ToolCall,
  bus: Pick<MessageBus, 'onControl'>,
): Disposable & { signal: AbortSignal } {
  const controller = new AbortController();
  const { reply } = turn.incoming;
  const onClose = (): void => controller.abort(new AdapterError('cancelled'));
  const stop = bus.onControl((message) => {
    if (message.serverId !== record.serverId || message.sessionId !== record.sessionId) return;
    if (message.type === 'session-ended') controller.abort(new AdapterError('session_ended'));
    if (message.type === 'cancelled' && message.requestId === request.idText) onClose();
  });
  reply.once('close', onClose);
  if (reply.destroyed) onClose();
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      stop();
      reply.off('close', onClose);
    },
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
