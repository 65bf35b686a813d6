import { taskIn } from '../exchange/tool-result.ts';
import { locate, type Span, splice } from '../exchange/scanning/json-scan.ts';
import { editedCall, errorResult } from '../exchange/edited-call.ts';
import { mayBeList, schemaPath } from '../catalog/schema-path.ts';
import { AdapterError } from '../errors.ts';
import { FileRefused } from '../files/keys/file-key.ts';
import { AFTER_LIMIT_MS } from '../limits.ts';
import { detachCall } from '../artifacts/detached-calls.ts';
import type { ToolResult } from '../artifacts/locate-output.ts';
import { successfulResult } from '../artifacts/successful-result.ts';
import type { FileRecord } from '../state/file-records.ts';
import type { DetachedCall, PreparedCall, ResumedCall, ToolCall, ToolStep } from '../tools/tool-step.ts';
import { fileArguments, type FileValue, withFileArgument } from '../uploads/file-arguments.ts';
import { FileUse, leaseUntil, leftForMs } from '../uploads/file-use.ts';
import { CallFiles, type LeftFiles, type RoleCall } from './call-files.ts';
import { foundFiles, type NotTaken } from './found-files.ts';
import { FileKeeper, type KeptFiles } from './kept-files.ts';
import { type PathName, withHandles } from './path-names.ts';
import { withFiles } from './result-files.ts';
import { handleGuidance } from './role-guidance.ts';
import type { RoleDeps } from './role-deps.ts';
import type { RoleArgument, ToolRoles } from './tool-roles.ts';

/** How long files are kept for: their end must be heard of before the exchange ends. */
const CAPTURE_MS = AFTER_LIMIT_MS - 5_000;
const SHOWN_CHARS = 120;
/** Each is a folder of its own while the call runs. */
const MAX_CALL_FILES = 100;
/** What a model can do something about. */
const FOR_MODELS: ReadonlySet<string> = new Set([
  'file_too_large',
  'session_quota',
  'storage_quota',
  'artifact_limit',
  'storage_busy',
]);

/** What is kept of a call that goes on without its exchange. */
interface LeftRoles extends LeftFiles {
  /** By the clock of the replica that sent it, in milliseconds. */
  readonly startedAt: number;
}

/** What is put into the body: the value of an argument, in the place of another or where there was none. */
type Edit =
  | { readonly at: FileValue; readonly path: string }
  | { readonly keys: readonly string[]; readonly path: string };

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
  readonly #onNotTaken: (tool: string, file: NotTaken) => void;

  constructor(deps: RoleDeps, roles: ToolRoles, onNotTaken: (tool: string, file: NotTaken) => void) {
    this.#deps = deps;
    this.#roles = roles;
    this.#onNotTaken = onNotTaken;
  }

  async prepare(call: ToolCall): Promise<PreparedCall> {
    const files = new CallFiles(this.#deps, call);
    const uses: FileRecord[] = [];
    const { records } = this.#deps;
    let isForwarded = false;
    try {
      const edits = await this.#edits(call, files, uses);
      const body = withValues(call.body.text, edits);
      if (body === undefined) throw new Refusal('The arguments of the tool must be an object.');
      // What is pending is renewed with the rest; its use ends with its record.
      const use = new FileUse(records, [...uses, ...files.pendingFiles], call.timeoutMs);
      const prepared = this.#forward(call, files, body, use);
      isForwarded = true;
      return prepared;
    } catch (error) {
      if (error instanceof Refusal) return refused(error.message);
      if (error instanceof FileRefused)
        return refused('A file of this call has expired or was changed. Make it or upload it again.');
      if (error instanceof AdapterError && FOR_MODELS.has(error.code)) return refused(error.message);
      throw error;
    } finally {
      if (!isForwarded) {
        await files.end(new Set(), true);
        if (uses.length > 0) await records.release(uses, records.now()).catch(() => undefined);
      }
    }
  }

  /** Takes all files of the call into use, and says what the tool gets for them. */
  async #edits(call: ToolCall, files: CallFiles, uses: FileRecord[]): Promise<Edit[]> {
    const edits: Edit[] = [];
    const byRole = new Map<string, string>();
    for (const argument of ordered(this.#roles.arguments)) {
      // oxlint-disable-next-line no-await-in-loop -- locks are taken one after the other
      for (const one of await this.#values(call, argument)) {
        const isRead = argument.role === 'in' || argument.role === 'edit';
        const value = 'at' in one ? one.at.value : undefined;
        const key = `${argument.role === 'edit' ? 'edit' : argument.name} ${value}`;
        let path = isRead && value !== undefined ? byRole.get(key) : undefined;
        // oxlint-disable-next-line no-await-in-loop -- the same
        path ??= await this.#path(call, files, uses, argument, value);
        byRole.set(key, path);
        edits.push({ ...one, path });
        if (edits.length > MAX_CALL_FILES) throw new Refusal(`A call takes at most ${MAX_CALL_FILES} files.`);
      }
    }
    return edits;
  }

  /** Where an argument stands in the call, or where it is to be put. */
  async #values(
    call: ToolCall,
    argument: RoleArgument,
  ): Promise<({ readonly at: FileValue } | { readonly keys: readonly string[] })[]> {
    const found = fileArguments(call.body.text, argument.keys);
    if (found.kind === 'refused') {
      const problem =
        found.problem === 'ambiguous'
          ? 'must be given once, written exactly like this'
          : 'must be a text or a list of texts';
      throw new Refusal(`The argument ${argument.name} ${problem}.`);
    }
    if (found.kind === 'values') return found.values.map((at) => ({ at }));
    if (argument.role === 'in' || argument.role === 'edit') return [];
    // A tool that must be told where to write is told so; one that need not goes on as it likes.
    const schema = await this.#deps.schemas.of(call);
    const properties = schema === undefined ? [] : schemaPath(schema, argument.keys, true);
    const last = properties.at(-1);
    const isWanted = properties.length === argument.keys.length && properties.every(({ required }) => required);
    if (schema === undefined || last === undefined || !isWanted || mayBeList(schema, last.span)) return [];
    return [{ keys: argument.keys }];
  }

  async #path(
    call: ToolCall,
    files: CallFiles,
    uses: FileRecord[],
    argument: RoleArgument,
    value: string | undefined,
  ): Promise<string> {
    const { handles, records, artifacts } = this.#deps;
    if (argument.role === 'out' || argument.role === 'out_dir') return files.want(argument, value);
    const handle = value ?? '';
    if (!handles.isHandle(handle)) {
      if (argument.as === 'file_uri' && argument.role === 'in' && /^https?:\/\//i.test(handle)) return handle;
      if (argument.role === 'edit' && argument.create) return files.want(argument, handle);
      throw new Refusal(
        `The argument ${argument.name} takes handles of files; ${shown(handle)} is none. ${handleGuidance(artifacts.uri_scheme)}`,
      );
    }
    const file = await handles.take(call, handle, leaseUntil(records.now(), call.timeoutMs));
    if (file === undefined)
      throw new Refusal(`The file ${shown(handle)} is unknown or has expired. Make it or upload it again.`);
    uses.push(file);
    return argument.role === 'in' ? files.give(file, handle, argument) : files.edit(file, handle, argument);
  }

  #forward(call: ToolCall, files: CallFiles, body: string, use: FileUse): PreparedCall {
    const startedAt = Date.now();
    const ended = new AbortController();
    const kept = new Set<string>();
    let answering: Promise<unknown> | undefined;
    let isLeft = false;
    return {
      kind: 'forward',
      body: body === call.body.text ? call.body : editedCall(call.request, body),
      onResponse: async (text) => {
        // Its files are looked for by nobody: what it was given stays for as long as its leases.
        isLeft = taskIn(text) !== undefined;
        if (isLeft) return text;
        const answer = this.#answer(call, files, text, { startedAt, ended: ended.signal, kept });
        answering = answer.catch(() => undefined);
        return answer;
      },
      onEnd: async (_outcome, goesOn) => {
        ended.abort();
        if (goesOn === true || isLeft) {
          await Promise.all([use.leave(call.timeoutMs), ...files.edits.map((edit) => edit.abandon())]);
          if (goesOn === true) await this.#detach(call, files, startedAt);
        } else {
          // What is about to be kept is kept or given up before anything goes.
          await answering;
          await Promise.all([files.end(kept, answering !== undefined), use.end()]);
        }
      },
    };
  }

  resume({ caller, record }: Pick<ToolCall, 'caller' | 'record'>, { tool, files: left }: DetachedCall): ResumedCall {
    const { startedAt, ...kept } = left as LeftRoles;
    const ended = new AbortController();
    // Its time limit ended with the exchange that it was meant for.
    const call = { caller, record, tool, timeoutMs: null, signal: ended.signal };
    const files = CallFiles.restored(this.#deps, call, kept);
    const artifacts = new Set<string>();
    let answering: Promise<unknown> | undefined;
    return {
      onResponse: (text) => {
        const answer = this.#answer(call, files, text, { startedAt, ended: ended.signal, kept: artifacts });
        answering = answer.catch(() => undefined);
        return answer;
      },
      onEnd: async () => {
        ended.abort();
        await answering;
        await files.end(artifacts, answering !== undefined);
      },
    };
  }

  /** Its response comes on another stream, maybe at another replica. Never fails. */
  async #detach({ record, request, tool, timeoutMs }: ToolCall, files: CallFiles, startedAt: number): Promise<void> {
    const left: LeftRoles = { ...files.left, startedAt };
    try {
      await detachCall(this.#deps.edits, record, request.idText, { tool, files: left }, leftForMs(timeoutMs));
    } catch {
      // Its response will pass as it is.
    }
  }

  async #answer(
    call: RoleCall,
    files: CallFiles,
    text: string,
    { startedAt, ended, kept }: { readonly startedAt: number; readonly ended: AbortSignal; readonly kept: Set<string> },
  ): Promise<string> {
    const at = locate(text, ['result']);
    const result = at === undefined ? undefined : successfulResult(text.slice(at.start, at.end));
    if (at === undefined || result === undefined) return withHandles(text, whole(text), files.namesOfFailed);
    const timed = call.timeoutMs === null ? ended : AbortSignal.any([ended, AbortSignal.timeout(CAPTURE_MS)]);
    const own = await new FileKeeper(this.#deps, files, timed).keep(result);
    const found = await this.#found(call, files, { result, startedAt, signal: timed });
    const all = [...own.files, ...found.files];
    for (const file of all) {
      kept.add(file.fileId);
      this.#tell(file);
    }
    const names: PathName[] = [...own.names, ...files.names, ...found.names];
    const renamed = withHandles(text, at, names);
    const place = locate(renamed, ['result']) ?? at;
    return withFiles(
      this.#deps,
      call,
      { text: renamed, at: place },
      { files: all, problems: [...own.problems, ...found.problems] },
    );
  }

  async #found(
    call: RoleCall,
    files: CallFiles,
    parts: { readonly result: ToolResult; readonly startedAt: number; readonly signal: AbortSignal },
  ): Promise<KeptFiles> {
    const { found: rules } = this.#roles;
    if (rules.length === 0) return { files: [], names: [], problems: [] };
    return foundFiles(this.#deps, files, { ...parts, rules, onNotTaken: (file) => this.#onNotTaken(call.tool, file) });
  }

  #tell(file: FileRecord): void {
    const { telemetry, serverId, onListChanged } = this.#deps;
    telemetry.artifact({ serverId, bytes: file.sizeBytes });
    if (file.exposed) onListChanged(file);
  }
}

/** What a model has done wrong, and can do better. */
class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** Edits last, so that nobody waits for a file while others wait for what this call has. */
function ordered(roles: readonly RoleArgument[]): RoleArgument[] {
  return roles.toSorted((a, b) => Number(a.role === 'edit') - Number(b.role === 'edit'));
}

/** The body with these values; undefined where there is no place for one. */
function withValues(body: string, edits: readonly Edit[]): string | undefined {
  const replaced = edits.flatMap((edit) =>
    'at' in edit ? [{ start: edit.at.start, end: edit.at.end, with: JSON.stringify(edit.path) }] : [],
  );
  let text: string | undefined = splice(
    body,
    replaced.toSorted((a, b) => a.start - b.start),
  );
  for (const edit of edits) {
    if ('at' in edit || text === undefined) continue;
    text = withFileArgument(text, edit.keys, JSON.stringify(edit.path));
  }
  return text;
}

const whole = (text: string): Span => ({ start: 0, end: text.length });

const refused = (text: string): PreparedCall => ({ kind: 'result', result: errorResult(text) });

const shown = (value: string): string =>
  JSON.stringify(value.length > SHOWN_CHARS ? `${value.slice(0, SHOWN_CHARS)}…` : value);
