import type { ArtifactProducer } from '../../crds/config/adapter-file/entry.ts';
import { AdapterError } from '../errors.ts';
import { safeFilename } from '../files/keys/paths.ts';
import { newSessionId } from '../sessions/session-registry.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import { type FileRecord, MAX_SESSION_FILES } from '../state/file-records.ts';
import { ArtifactCapture } from './artifact-capture.ts';
import { editedCall, errorResult } from '../exchange/edited-call.ts';
import { leaseUntil, leftForMs } from '../uploads/file-use.ts';
import { leaveCall } from './left-calls.ts';
import { locateOutput } from './locate-output.ts';
import { wantedPath, withOutputPath } from './output-argument.ts';
import type { ProducerOptions, ProducerSettings } from './producer-settings.ts';
import type { LeftCall, PreparedCall, TakenUpCall, ToolCall, ToolStep } from '../tools/tool-step.ts';

/**
 * Calls of tools that produce files (specification 2.8): the tool is told where to write, and what it has written becomes
 * an artifact of the session. Undefined where that changes nothing: the calls pass.
 */
export function artifactProducer(entry: ArtifactProducer, options: ProducerOptions): ToolStep | undefined {
  const { output_locator: locator, output_path_argument: argument } = entry;
  const locate = locateOutput(locator);
  const findsNothing = argument === null && locator.mode === 'none';
  if (!options.artifacts.enabled || !entry.persist || findsNothing) return undefined;
  return new ProducerStep(argument, options, {
    locate,
    mode: locator.mode,
    exposed: entry.expose_as_resource ?? options.artifacts.expose_as_resources,
    rawOutput: entry.allow_raw_output ?? entry.overrides.allow_raw_output ?? options.allowRawOutput,
  });
}

class ProducerStep implements ToolStep {
  /** Files belong to a session, one that the adapter opens for a client without. */
  readonly needsHome = true;
  readonly #argument: string | null;
  readonly #options: ProducerOptions;
  readonly #settings: ProducerSettings;

  constructor(argument: string | null, options: ProducerOptions, settings: ProducerSettings) {
    this.#argument = argument;
    this.#options = options;
    this.#settings = settings;
  }

  async prepare(call: ToolCall): Promise<PreparedCall> {
    // The result of a task comes with another request, when nobody waits for a file any more (MCP 2025-11-25).
    if (call.request.params['task'] !== undefined && !isWorkspace(call.record)) {
      // The path must not be the client's choice.
      return this.#argument === null
        ? { kind: 'forward', body: call.body }
        : { kind: 'result', result: errorResult(NO_TASK) };
    }
    const pending = this.#pendingFile(call);
    const { records, artifacts } = this.#options;
    const begun = await records.begin([pending], { now: pending.createdAt, maxArtifacts: artifacts.max_per_session });
    if (begun === 'no_session') return { kind: 'error', error: new AdapterError('session_not_found') };
    if (begun === 'limit') return this.#refuse('artifact_limit', `${artifacts.max_per_session} artifacts`);
    if (begun === 'full') return this.#refuse('session_quota', `${MAX_SESSION_FILES} files`);
    const capture = new ArtifactCapture(this.#options, this.#settings, call, pending, this.#argument !== null);
    try {
      const body = await this.#bodyFor(call, pending);
      return {
        kind: 'forward',
        body,
        onResponse: (text) => capture.answer(text),
        onEnd: (_outcome, goesOn) => (goesOn === true ? this.#leave(call, capture, pending) : capture.end()),
      };
    } catch (error) {
      await capture.end();
      throw error;
    }
  }

  takeUp({ caller, record }: Pick<ToolCall, 'caller' | 'record'>, { file }: LeftCall): TakenUpCall {
    // Its time limit ended with the reply that it was meant for.
    const call = { caller, record, timeoutMs: null };
    const capture = new ArtifactCapture(this.#options, this.#settings, call, file, this.#argument !== null);
    return { onResponse: (text) => capture.answer(text), onEnd: () => capture.end() };
  }

  /** `held`: what the session has too many of. */
  #refuse(reason: 'artifact_limit' | 'session_quota', held: string): PreparedCall {
    const { telemetry, serverId } = this.#options;
    telemetry.artifactFailed({ serverId, reason });
    return { kind: 'result', result: notCalled(reason, held) };
  }

  async #leave(
    { record, request, tool, timeoutMs }: ToolCall,
    capture: ArtifactCapture,
    file: FileRecord,
  ): Promise<void> {
    await capture.leave();
    try {
      await leaveCall(this.#options.locksOfCalls, record, request.idText, { tool, file }, leftForMs(timeoutMs));
    } catch {
      // Its response will pass as it is.
    }
  }

  #pendingFile({ record, request, tool, timeoutMs }: ToolCall): FileRecord {
    const now = this.#options.records.now();
    const fileId = newSessionId();
    const wanted = this.#argument === null ? undefined : wantedPath(request.params, this.#argument);
    return {
      serverId: this.#options.serverId,
      sessionId: record.sessionId,
      kind: 'artifact',
      fileId,
      state: 'pending',
      filename: safeFilename(wanted, `artifact-${fileId}`),
      mimeType: 'application/octet-stream',
      sizeBytes: 0,
      sha256: null,
      toolName: tool,
      exposed: this.#settings.exposed,
      createdAt: now,
      lastUsedAt: now,
      leaseUntil: leaseUntil(now, timeoutMs),
    };
  }

  async #bodyFor(call: ToolCall, pending: FileRecord): Promise<ToolCall['body']> {
    if (this.#argument === null) return call.body;
    const path = await this.#options.files.stage.prepare(pending);
    const text = withOutputPath(call.body.text, this.#argument, path);
    if (text === undefined) throw new AdapterError('invalid_request', 'The arguments of the tool must be an object.');
    return editedCall(call.request, text);
  }
}

const NO_TASK = 'This tool writes a file, which needs a call that is waited for; call it without "task".';

function notCalled(code: 'artifact_limit' | 'session_quota', held: string): string {
  const detail =
    `The session has ${held}, which is the most that it may have; the tool was not called. ` +
    'They go away some time after they were last used.';
  return JSON.stringify({
    content: [{ type: 'text', text: detail }],
    isError: true,
    _meta: { artifact_error: { code, detail } },
  });
}
