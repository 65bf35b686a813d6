import { randomUUID } from 'node:crypto';
import { pathToFileURL } from 'node:url';

import { mayBeList, schemaPath } from '../catalog/schema-path.ts';
import { downloadOf, UPLOAD } from '../access/wishes.ts';
import { AdapterError } from '../errors.ts';
import type { Body } from '../exchange/message.ts';
import type { Outcome } from '../path/ending.ts';
import type { StagingArea } from '../files/disk/staging-area.ts';
import type { FileStore } from '../files/store/file-store.ts';
import { FileRefused } from '../files/keys/file-key.ts';
import type { Uploads } from '../files/uploads/uploads.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import type { FileKey, FileKind, FileRecord, FileRecords } from '../state/file-records.ts';
import { type FileArguments, fileArguments, withFileArgument, withFileArguments } from './file-arguments.ts';
import { editedCall } from '../exchange/edited-call.ts';
import { isAccepted } from './accepted-types.ts';
import { type DataFile, dataFile, isDataUri } from './data-uri.ts';
import { FileUse, leaseUntil } from './file-use.ts';
import { createsTask, taskTtlMs } from './task-call.ts';
import type { ToolSchemas } from '../tools/visible/tool-schemas.ts';
import type { PreparedCall, ToolCall, ToolStep } from '../tools/visible/tool-step.ts';
import { parseHandle } from './upload-handle.ts';
import type { QuestionState } from './question-state.ts';
import { type AnsweredQuestion, uploadMessage, type UploadQuestion } from './upload-question.ts';
import { refused, UploadRefusals } from './upload-refusals.ts';
import { declaresUrls, takesUrls } from './url-elicitation.ts';

export interface ConsumerOptions {
  readonly serverId: string;
  /** Keys of `file_path_argument`. */
  readonly path: readonly string[];
  /** `uploads.uri_scheme`. */
  readonly uriScheme: string;
  readonly passAs: 'path' | 'file_uri' | 'url';
  /** How long a URL that is passed can be used. */
  readonly urlTtlSeconds: number;
  /** `uploads.enabled`. */
  readonly enabled: boolean;
  /** `uploads.ttl_seconds`, in milliseconds. */
  readonly ttlMs: number | null;
  /** Name of the tool that tells where to upload; undefined when it is hidden. */
  readonly helper: string | undefined;
  readonly records: Pick<FileRecords, 'use' | 'lease' | 'release' | 'list' | 'now'>;
  readonly files: Pick<FileStore, 'open' | 'url'> & { readonly stage: Pick<StagingArea, 'toolPathOf'> };
  readonly schemas: Pick<ToolSchemas, 'of'>;
  /** `uploads.max_file_bytes` */
  readonly maxFileBytes: number;
  /** `accept` of the entry. */
  readonly accept: readonly string[] | null;
  readonly uploads: StagedUploads;
  /** Whether the caller may use the files of a session. */
  readonly mayUse: (call: ToolCall, sessionId: string) => Promise<boolean>;
  /** Files that tools have made; undefined where there are none. */
  readonly artifacts?: PassedArtifacts | undefined;
  /** Makes the page at which a person can upload a file for this tool; undefined where that is not offered. */
  readonly offer: ((call: ToolCall, elicitationId: string) => Promise<{ readonly url: string }>) | undefined;
  /** As `offer`, for clients without sessions. */
  readonly question: UploadQuestion | undefined;
}

/** Artifacts that can be passed as uploads can. */
export interface PassedArtifacts {
  /** What an artifact's URI names; undefined for any other text. */
  readonly parse: (
    text: string,
  ) => { readonly sessionId: string; readonly fileId: string; readonly filename: string } | undefined;
  /** In milliseconds; null: never. */
  readonly ttlMs: number | null;
  /** Whether the caller may use the artifacts of a session. */
  readonly mayUse: (call: ToolCall, sessionId: string) => Promise<boolean>;
  /** Whether tools change files: an upload that was changed is an artifact with the same id. */
  readonly areEdited: boolean;
}

/** Files that come with a call. */
export interface StagedUploads {
  stage: Uploads['stage'];
  /** Removes them again. Never fails. */
  remove(files: readonly FileRecord[]): Promise<void>;
}

/** A file, and for an artifact how its handle calls it. */
type NamedFile = FileKey & { readonly filename?: string | undefined };

/** What a model can do something about. */
const OF_FILES: ReadonlySet<string> = new Set(['file_too_large', 'session_quota', 'storage_quota', 'uploads_disabled']);

/**
 * Calls of a tool that takes files: handles of uploads become what the tool can read, for as long as the call goes on.
 *
 *     arguments ─┬─ values ──── every handle is one of this session ─ in use ─ forward
 *                ├─ absent ──── not required ─ forward
 *                │         └─── required ─ uploaded for this tool meanwhile? ─ in use ─ forward
 *                │                      └─ offer the page, or say what to do
 *                └─ anything else ─ say what to do
 */
export class UploadConsumer implements ToolStep {
  /** A file that stands in the call itself must belong to a session. */
  readonly needsHome = (body: Body): boolean => this.#options.enabled && holdsData(body.text, this.#options.path);
  readonly #options: ConsumerOptions;
  readonly #refusals: UploadRefusals;

  constructor(options: ConsumerOptions) {
    this.#options = options;
    this.#refusals = new UploadRefusals(options);
  }

  async prepare(call: ToolCall): Promise<PreparedCall> {
    if (!this.#options.enabled)
      return refused('This tool takes uploaded files, and uploads are switched off on this server.');
    const answered = isWorkspace(call.record) ? await this.#options.question?.answered(call) : undefined;
    if (answered === undefined) return this.#start(call);
    return 'refused' in answered ? answered.refused : this.#start(answered.call, answered);
  }

  /** `answered`: the question for a file that this call answers. */
  async #start(call: ToolCall, answered?: AnsweredQuestion): Promise<PreparedCall> {
    const { path } = this.#options;
    const found = fileArguments(call.body.text, path);
    if (found.kind === 'values') return this.#rewrite(call, found);
    if (found.kind === 'absent') return this.#withoutFile(call, found.depth, answered);
    return this.#refusals.problem(found.problem);
  }

  async #rewrite(call: ToolCall, { values }: FileArguments & { kind: 'values' }): Promise<PreparedCall> {
    const { serverId, uriScheme } = this.#options;
    const keys = new Map<string, NamedFile>();
    const data = new Map<string, DataFile>();
    const allowed = new Map<string, boolean>();
    for (const { value } of values) {
      if (isDataUri(value)) {
        const file = data.get(value) ?? dataFile(value, this.#options.maxFileBytes);
        if ('problem' in file) return this.#refusals.data(value, file.problem);
        if (!isAccepted(this.#options.accept, file)) return this.#refusals.type(value, file);
        data.set(value, file);
        continue;
      }
      const upload = parseHandle(value, uriScheme);
      const artifact = upload === undefined ? this.#options.artifacts?.parse(value) : undefined;
      const handle = upload ?? artifact;
      if (handle === undefined) return this.#refusals.noHandle(value);
      const kind = artifact === undefined ? 'upload' : 'artifact';
      const owner = `${kind} ${handle.sessionId}`;
      const isOwn = allowed.get(owner) ?? (await this.#mayUse(call, kind, handle.sessionId));
      allowed.set(owner, isOwn);
      // Rules may be about one file of a session.
      const isAllowed = artifact === undefined || call.caller.access?.allows(downloadOf(value)) !== false;
      // Another session's file is as unknown as one that never was.
      if (!isOwn || !isAllowed) return this.#refusals.unknown(value);
      const { sessionId, fileId } = handle;
      keys.set(value, { serverId, sessionId, kind, fileId, filename: artifact?.filename });
    }
    if (keys.size + data.size === 0) return { kind: 'forward', body: call.body };
    const staged = data.size === 0 ? [] : await this.#stage(call, data);
    if ('kind' in staged) return staged;
    for (const [i, value] of [...data.keys()].entries()) keys.set(value, staged[i] as FileKey);
    let isForwarded = false;
    try {
      const prepared = await this.#using(call, keys, (texts) =>
        withFileArguments(
          call.body.text,
          values,
          values.map(({ value }) => texts.get(value) ?? 'null'),
        ),
      );
      isForwarded = prepared.kind === 'forward';
      return prepared;
    } finally {
      if (!isForwarded) await this.#options.uploads.remove(staged);
    }
  }

  /** Makes uploads of the session of files that stand in the call; why not is for the model. */
  async #stage(call: ToolCall, data: ReadonlyMap<string, DataFile>): Promise<readonly FileRecord[] | PreparedCall> {
    const { serverId, sessionId } = call.record;
    if (call.caller.access?.allows(UPLOAD) === false) return refused('You may not upload files.');
    try {
      return await this.#options.uploads.stage({
        serverId,
        sessionId,
        toolName: call.tool,
        files: [...data.values()],
        keepSession: () => Promise.resolve(),
        signal: call.signal,
      });
    } catch (error) {
      if (error instanceof AdapterError && OF_FILES.has(error.code)) return refused(error.message);
      throw error;
    }
  }

  /** Takes the files into use, and lets `edit` put what the tool gets into the body. `keys` are by their handles. */
  async #using(
    call: ToolCall,
    keys: ReadonlyMap<string, NamedFile>,
    edit: (texts: ReadonlyMap<string, string>) => string | undefined,
  ): Promise<PreparedCall> {
    const { records } = this.#options;
    const texts = new Map<string, string>();
    const byId = new Map<string, { readonly text: string; readonly filename: string }>();
    const taken: FileKey[] = [];
    let isForwarded = false;
    try {
      for (const [handle, key] of keys) {
        let known = byId.get(key.fileId);
        if (known === undefined) {
          const file = await this.#take(call, key);
          if (file === undefined) return this.#refusals.unknown(handle);
          taken.push(file);
          if (!isAccepted(this.#options.accept, file)) return this.#refusals.type(handle, file);
          const passed = await this.#passed(file);
          if (passed === 'missing') return this.#refusals.unknown(handle);
          if (passed === 'changed') return this.#refusals.changed(handle);
          byId.set(key.fileId, (known = { text: JSON.stringify(passed.value), filename: file.filename }));
        }
        // Rules that allow an artifact have looked at its name as it stands in the handle.
        if (key.kind === 'artifact' && key.filename !== known.filename) return this.#refusals.unknown(handle);
        texts.set(handle, known.text);
      }
      const body = edit(texts);
      if (body === undefined) return this.#refusals.problem('missing');
      isForwarded = true;
      const forwarded = { kind: 'forward', body: editedCall(call.request, body) } as const;
      if (taskTtlMs(call.request) === undefined) {
        const use = new FileUse(records, taken, call.timeoutMs);
        const onEnd = (_outcome: Outcome, goesOn?: boolean): undefined =>
          void (goesOn === true ? use.leave(call.timeoutMs) : use.end());
        return { ...forwarded, onEnd };
      }
      // They were taken into use for as long as the task may take.
      let goesOn = false;
      return {
        ...forwarded,
        onResponse: (text) => {
          goesOn = createsTask(text);
          return text;
        },
        onEnd: () => (goesOn ? undefined : void new FileUse(records, taken, 0).end()),
      };
    } finally {
      if (!isForwarded && taken.length > 0) await new FileUse(records, taken, 0).end();
    }
  }

  async #mayUse(call: ToolCall, kind: FileKind, sessionId: string): Promise<boolean> {
    if (kind === 'upload') return this.#options.mayUse(call, sessionId);
    return (await this.#options.artifacts?.mayUse(call, sessionId)) === true;
  }

  async #take(call: ToolCall, key: FileKey): Promise<FileRecord | undefined> {
    const { records, ttlMs, artifacts } = this.#options;
    const now = records.now();
    const until = leaseUntil(now, taskTtlMs(call.request) ?? call.timeoutMs);
    if (key.kind === 'artifact' || artifacts?.areEdited === true) {
      const made = { ...key, kind: 'artifact' } as const;
      const file = await records.use(made, { now, ttlMs: artifacts?.ttlMs ?? null, leaseUntil: until });
      if (file !== undefined || key.kind === 'artifact') return file;
    }
    return records.use(key, { now, ttlMs, leaseUntil: until });
  }

  /** What the tool gets for a file, or why not: its bytes are not there, or not those that were uploaded. */
  async #passed(file: FileRecord): Promise<{ readonly value: string } | 'missing' | 'changed'> {
    const { files, passAs, urlTtlSeconds } = this.#options;
    if (passAs === 'url') {
      const value = await files.url(file, { expiresInSeconds: urlTtlSeconds, as: 'inline' });
      return value === undefined ? 'missing' : { value };
    }
    try {
      const opened = await files.open(file);
      await opened.close();
      const path = files.stage.toolPathOf(opened.path);
      return { value: passAs === 'file_uri' ? pathToFileURL(path).href : path };
    } catch (error) {
      if (error instanceof FileRefused) return error.reason === 'changed' ? 'changed' : 'missing';
      throw error;
    }
  }

  /** A call without a file, which many tools allow. */
  async #withoutFile(call: ToolCall, depth: number, answered?: AnsweredQuestion): Promise<PreparedCall> {
    const { path, offer, question } = this.#options;
    const schema = await this.#options.schemas.of(call);
    const properties = schema === undefined ? [] : schemaPath(schema, path, true);
    const missing = properties.slice(depth);
    if (schema === undefined || missing.length < path.length - depth || !missing.every((one) => one.required)) {
      return { kind: 'forward', body: call.body };
    }
    const mayUpload = call.caller.access?.allows(UPLOAD) !== false;
    if (isWorkspace(call.record) && answered === undefined) {
      const isAsked = question !== undefined && mayUpload && declaresUrls(call);
      return isAsked ? question.ask(call) : this.#refusals.problem('missing');
    }
    const find = () => this.#wanted(call, answered?.state);
    const wanted = answered === undefined ? await find() : ((await question?.arrived(answered, find)) ?? []);
    const last = properties.at(-1);
    const takesList = last !== undefined && mayBeList(schema, last.span);
    const used = takesList ? wanted : wanted.slice(-1);
    if (used.length > 0) {
      const keys = new Map(used.map((file) => [file.fileId, file]));
      const prepared = await this.#using(call, keys, (texts) => {
        const all = [...texts.values()];
        return withFileArgument(call.body.text, path, takesList ? `[${all.join(',')}]` : (all[0] ?? 'null'));
      });
      return answered === undefined || question === undefined ? prepared : question.goOn(answered, prepared);
    }
    if (answered?.state.asksToo !== undefined) return refused('The uploaded file has expired. Call this tool again.');
    if (answered !== undefined && question !== undefined) return question.askAgain(call, answered.state);
    if (offer === undefined || !takesUrls(call) || !mayUpload) return this.#refusals.problem('missing');
    const elicitationId = randomUUID();
    const { url } = await offer(call, elicitationId);
    const message = uploadMessage(call.tool);
    return {
      kind: 'error',
      error: new AdapterError('upload_wanted', message),
      data: { elicitations: [{ mode: 'url', elicitationId, url, message }] },
    };
  }

  /** Files that were uploaded for this tool and that no call has had yet; all of them where they answer a question. */
  async #wanted(call: ToolCall, asked: QuestionState | undefined): Promise<readonly FileRecord[]> {
    const { records, serverId, ttlMs } = this.#options;
    const { sessionId } = asked ?? call.record;
    const uploads = await records.list({ serverId, sessionId }, 'upload', { now: records.now(), ttlMs });
    const isNew = (file: FileRecord): boolean => asked !== undefined || file.lastUsedAt === file.createdAt;
    return uploads.filter((file) => file.toolName === call.tool && isNew(file));
  }
}

/** Whether a file stands in the call itself; a quick look. */
function holdsData(text: string, path: readonly string[]): boolean {
  if (!/"data:/i.test(text)) return false;
  const found = fileArguments(text, path);
  return found.kind === 'values' && found.values.some(({ value }) => isDataUri(value));
}
