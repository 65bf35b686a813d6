import { taskIn } from '../exchange/tool-result.ts';
import type { Span } from '../exchange/scanning/json-scan.ts';
import { editedCall, errorResult } from '../exchange/edited-call.ts';
import { AdapterError } from '../errors.ts';
import { FileRefused, isFull } from '../files/keys/file-key.ts';
import { AFTER_LIMIT_MS } from '../limits.ts';
import { detachCall } from '../artifacts/detached-calls.ts';
import { taskMs } from '../artifacts/task-calls.ts';
import type { FileKey } from '../state/file-records.ts';
import type {
  DetachedCall,
  FinishedAnswer,
  FinishedTask,
  PreparedCall,
  ResumedCall,
  TaskEnd,
  ToolCall,
  ToolStep,
} from '../tools/visible/tool-step.ts';
import { FileUse, leaseWithoutExchange, leftForMs } from '../uploads/file-use.ts';
import { CallFiles, type RoleCall } from './call-files.ts';
import type { NotTaken } from './found-files.ts';
import { renamedMessage, resultAt, RoleResults } from './role-results.ts';
import { type LeftRoles, RoleTasks } from './role-tasks.ts';
import type { RoleDeps } from './role-deps.ts';
import { Refusal, TakenArguments } from './taken-arguments.ts';
import type { ToolRoles } from './tool-roles.ts';

/** How long files are kept for: their end must be heard of before the exchange ends. */
const CAPTURE_MS = AFTER_LIMIT_MS - 5_000;
/** What a model can do something about. */
const FOR_MODELS: ReadonlySet<string> = new Set([
  'file_too_large',
  'session_quota',
  'storage_quota',
  'artifact_limit',
  'storage_busy',
]);

/**
 * Calls of a tool whose arguments are files (entries of type `files`): handles become copies to read and paths to change, names
 * become paths to write to, and what the tool has made of them, or names itself, becomes artifacts.
 *
 *     handles ─ in use ─ locks of edits ─ copies ─▶ the tool ─▶ versions, artifacts ─▶ result with handles for paths
 */
export class RoleStep implements ToolStep {
  /** Files belong to a session, one that the adapter opens for a client without. */
  readonly needsHome = true;
  readonly #deps: RoleDeps;
  readonly #roles: ToolRoles;
  readonly #results: RoleResults;
  readonly #tasks: RoleTasks;

  constructor(deps: RoleDeps, roles: ToolRoles, onNotTaken: (tool: string, file: NotTaken) => void) {
    this.#deps = deps;
    this.#roles = roles;
    this.#results = new RoleResults(deps, roles, onNotTaken);
    this.#tasks = new RoleTasks(deps, this.#results);
  }

  async prepare(call: ToolCall): Promise<PreparedCall> {
    const files = new CallFiles(this.#deps, call);
    const taken = new TakenArguments(this.#deps, call, files);
    const { records } = this.#deps;
    let isForwarded = false;
    try {
      const body = await taken.body(this.#roles.arguments);
      const prepared = this.#forward(call, files, body, taken.uses);
      isForwarded = true;
      return prepared;
    } catch (error) {
      if (error instanceof Refusal) return refused(error.message);
      if (error instanceof FileRefused)
        return refused('A file of this call has expired or was changed. Make it or upload it again.');
      const known = isFull(error) ? this.#deps.known(error) : error;
      if (known instanceof AdapterError && FOR_MODELS.has(known.code)) return refused(known.message);
      throw error;
    } finally {
      if (!isForwarded) {
        await files.end(new Set(), 'ended');
        if (taken.uses.length > 0) await records.release(taken.uses, records.now()).catch(() => undefined);
      }
    }
  }

  #forward(call: ToolCall, files: CallFiles, body: string, uses: readonly FileKey[]): PreparedCall {
    const { records } = this.#deps;
    const left: LeftRoles = { ...files.left, startedAt: Date.now(), uses };
    // What is pending is renewed with the rest; its use ends with its record.
    const use = new FileUse(records, [...uses, ...files.pendingFiles], call.timeoutMs);
    const answering = new Answering(this.#results, call, files, left.startedAt);
    const names = files.allNames;
    let isTask = false;
    return {
      kind: 'forward',
      body: body === call.body.text ? call.body : editedCall(call.request, body),
      onResponse: async (text) => {
        const task = taskIn(text);
        if (task === undefined) return answering.answer(text);
        isTask = true;
        await use.leave(taskMs(task));
        return this.#tasks.leave(call, files, left, task, text);
      },
      onOther: (text) => renamedMessage(text, names),
      onEnd: async (_outcome, goesOn) => {
        await answering.end();
        if (goesOn === true || isTask) {
          await Promise.all(files.edits.map((edit) => edit.abandon()));
          if (isTask) return;
          await use.leave(call.timeoutMs);
          await this.#detach(call, left);
        } else {
          await Promise.all([files.end(answering.kept, answering.hasAnswered ? 'ended' : 'unknown'), use.end()]);
        }
      },
    };
  }

  resume({ caller, record }: Pick<ToolCall, 'caller' | 'record'>, { tool, files: kept }: DetachedCall): ResumedCall {
    const left = kept as LeftRoles;
    const { records } = this.#deps;
    // Its time limit ended with the exchange that it was meant for.
    const call: RoleCall = { caller, record, tool, timeoutMs: null, signal: new AbortController().signal };
    const files = CallFiles.restored(this.#deps, call, left);
    const answering = new Answering(this.#results, call, files, left.startedAt);
    let isTask = false;
    return {
      onResponse: async (text) => {
        const task = taskIn(text);
        if (task === undefined) return answering.answer(text);
        isTask = true;
        await leaseWithoutExchange(records, [...left.uses, ...files.pendingFiles], taskMs(task));
        return this.#tasks.leave(call, files, left, task, text);
      },
      onEnd: async () => {
        await answering.end();
        if (isTask) return;
        await files.end(answering.kept, answering.hasAnswered ? 'ended' : 'unknown');
        if (left.uses.length > 0) await records.release(left.uses, records.now()).catch(() => undefined);
      },
    };
  }

  finish(task: FinishedTask, left: DetachedCall, text: string, result: Span): Promise<FinishedAnswer> {
    return this.#tasks.finish(task, left, text, result);
  }

  about(task: FinishedTask, left: DetachedCall, text: string, end: TaskEnd | undefined): Promise<string> {
    return this.#tasks.about(task, left, text, end);
  }

  /** Its response comes on another stream, maybe at another replica. Never fails. */
  async #detach({ record, request, tool, timeoutMs }: ToolCall, files: LeftRoles): Promise<void> {
    try {
      await detachCall(this.#deps.edits, record, request.idText, { tool, files }, leftForMs(timeoutMs));
    } catch {
      // Its response will pass as it is.
    }
  }
}

/** The answer to one call, and what has become of its files. */
class Answering {
  readonly #results: RoleResults;
  readonly #call: RoleCall;
  readonly #files: CallFiles;
  readonly #startedAt: number;
  readonly #ended = new AbortController();
  #running: Promise<unknown> | undefined;
  /** Files that are artifacts now. */
  readonly kept = new Set<string>();

  constructor(results: RoleResults, call: RoleCall, files: CallFiles, startedAt: number) {
    this.#results = results;
    this.#call = call;
    this.#files = files;
    this.#startedAt = startedAt;
  }

  /** Whether the tool has ended, so that it writes no more. */
  get hasAnswered(): boolean {
    return this.#running !== undefined;
  }

  answer(text: string): Promise<string> {
    const answer = this.#answer(text);
    this.#running = answer.catch(() => undefined);
    return answer;
  }

  /** What is about to be kept is kept or given up. Never fails. */
  async end(): Promise<void> {
    this.#ended.abort(ENDED);
    await this.#running;
  }

  async #answer(text: string): Promise<string> {
    const at = resultAt(text);
    if (at === undefined) return renamedMessage(text, this.#files.allNames);
    const ended = this.#ended.signal;
    // A signal with a time limit costs as much as all the rest of a call that only reads files.
    const isTimed = this.#call.timeoutMs !== null && this.#results.makesFiles(this.#files);
    const signal = isTimed ? AbortSignal.any([ended, AbortSignal.timeout(CAPTURE_MS)]) : ended;
    const startedAt = this.#startedAt;
    const kept = await this.#results.keep(this.#call, this.#files, text.slice(at.start, at.end), { startedAt, signal });
    for (const { fileId } of kept.files) this.kept.add(fileId);
    this.#results.log(kept.files);
    return this.#results.shown(this.#call, text, at, kept);
  }
}

/** One for all: a DOMException for each call would take longer than all else at its end. */
const ENDED = new Error('the exchange has ended');

const refused = (text: string): PreparedCall => ({ kind: 'result', result: errorResult(text) });
