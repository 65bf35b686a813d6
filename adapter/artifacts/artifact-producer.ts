import { randomUUID } from 'node:crypto';
import type { ArtifactProducer } from '../../crds/config/adapter-file/entry.ts';
import { AdapterError } from '../errors.ts';
import { safeFilename } from '../files/keys/paths.ts';
import { newSessionId } from '../sessions/session-registry.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import { type FileRecord, MAX_SESSION_FILES } from '../state/file-records.ts';
import { ArtifactCapture } from './artifact-capture.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { editedCall } from '../exchange/edited-call.ts';
import { leaseUntil, leftForMs } from '../uploads/file-use.ts';
import { type MadeTask, taskIn } from '../exchange/tool-result.ts';
import type { Span } from '../exchange/scanning/json-scan.ts';
import { callerOwner } from '../sessions/session-tasks.ts';
import { whileLocked } from '../sessions/store-lock.ts';
import { keepTaskCall, taskMs } from './task-calls.ts';
import { detachCall } from './detached-calls.ts';
import { locateOutput } from './locate-output.ts';
import { wantedPath, withOutputPath } from './output-argument.ts';
import type { ProducerOptions, ProducerSettings } from './producer-settings.ts';
import type {
  FinishedAnswer,
  FinishedTask,
  DetachedCall,
  PreparedCall,
  ResumedCall,
  ToolCall,
  ToolStep,
} from '../tools/visible/tool-step.ts';

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
    const pending = this.#pendingFile(call);
    const { records, artifacts } = this.#options;
    const begun = await records.begin([pending], { now: pending.createdAt, maxArtifacts: artifacts.max_per_session });
    if (begun === 'no_session') return { kind: 'error', error: new AdapterError('session_not_found') };
    if (begun === 'limit') return this.#refuse('artifact_limit', `${artifacts.max_per_session} artifacts`);
    if (begun === 'full') return this.#refuse('session_quota', `${MAX_SESSION_FILES} files`);
    const capture = new ArtifactCapture(this.#options, this.#settings, call, pending, this.#argument !== null);
    try {
      const body = await this.#bodyFor(call, pending);
      let isTask = false;
      return {
        kind: 'forward',
        body,
        onResponse: async (text) => {
          const task = taskIn(text);
          if (task === undefined) return capture.answer(text);
          isTask = true;
          await this.#leaveTask(call, capture, pending, task);
          return text;
        },
        onEnd: (_outcome, goesOn) => {
          if (isTask) return undefined;
          return goesOn === true ? this.#leave(call, capture, pending) : capture.end();
        },
      };
    } catch (error) {
      await capture.end();
      throw error;
    }
  }

  resume(
    { caller, record }: Pick<ToolCall, 'caller' | 'record'>,
    { tool, file }: DetachedCall,
  ): ResumedCall | undefined {
    if (file === undefined) return undefined;
    // Its time limit ended with the reply that it was meant for.
    const call = { caller, record, timeoutMs: null };
    const capture = new ArtifactCapture(this.#options, this.#settings, call, file, this.#argument !== null);
    let isTask = false;
    return {
      onResponse: async (text) => {
        const task = taskIn(text);
        if (task === undefined) return capture.answer(text);
        isTask = true;
        await this.#leaveTask({ caller, record, tool }, capture, file, task);
        return text;
      },
      onEnd: () => (isTask ? Promise.resolve() : capture.end()),
    };
  }

  async finish(call: FinishedTask, { file }: DetachedCall, text: string, result: Span): Promise<FinishedAnswer> {
    if (file === undefined) return { answer: text, isKept: false, end: () => Promise.resolve() };
    const { records, locksOfCalls } = this.#options;
    const { caller, record, signal } = call;
    const isGiven = this.#argument !== null;
    const captureOf = (): ArtifactCapture =>
      new ArtifactCapture(this.#options, this.#settings, { caller, record, timeoutMs: null }, file, isGiven);
    const resume = async (): Promise<FinishedAnswer | undefined> => {
      const kept = await records.find(file, { now: records.now(), ttlMs: null });
      if (kept === undefined) return undefined;
      const capture = captureOf();
      return { answer: await capture.resume(text, kept, result), isKept: true, end: () => capture.end() };
    };
    // Whoever asks meanwhile, at any replica, gets the same artifact.
    const lock = { name: `task-result:${file.fileId}`, owner: randomUUID(), ttlMs: LOCK_MS, signal };
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- until it is there, or nobody else is at it
      const finished = await whileLocked(locksOfCalls, lock, async () => {
        const known = await resume();
        if (known !== undefined) return known;
        const capture = captureOf();
        const answer = await capture.answer(text, result);
        const { isKept } = capture;
        if (!isKept) await capture.end();
        return { answer, isKept, end: () => capture.end() };
      });
      if (finished !== undefined) return finished;
      // oxlint-disable-next-line no-await-in-loop -- the same
      await delay(LOCK_POLL_MS, undefined, { signal });
    }
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
      await detachCall(this.#options.locksOfCalls, record, request.idText, { tool, file }, leftForMs(timeoutMs));
    } catch {
      // Its response will pass as it is.
    }
  }

  /** What the task will have written is looked for when its result is asked for. */
  async #leaveTask(
    { record, caller, tool }: Pick<ToolCall, 'record' | 'caller' | 'tool'>,
    capture: ArtifactCapture,
    file: FileRecord,
    task: MadeTask,
  ): Promise<void> {
    await capture.leave(taskMs(task));
    const owner = isWorkspace(record) ? callerOwner(record.serverId, caller.principal) : record;
    try {
      await keepTaskCall(this.#options.locksOfCalls, owner, task, { tool, file });
    } catch {
      // The task runs all the same; its result will pass as it is.
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

/** How long the lock on a task's result outlives a replica that dies, and how often it is tried. In milliseconds. */
const LOCK_MS = 60_000;
const LOCK_POLL_MS = 100;

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
