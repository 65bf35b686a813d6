import { dirname } from 'node:path';

import { findOutput } from '../artifacts/find-output.ts';
import { keepArtifact } from '../artifacts/keep-artifact.ts';
import { locateOutput, type ToolResult } from '../artifacts/locate-output.ts';
import { artifactUri } from '../artifacts/artifact-uri.ts';
import { AdapterError } from '../errors.ts';
import { FileRefused, type OpenedFile } from '../files/keys/file-key.ts';
import { wasWrittenSince } from '../files/keys/written-since.ts';
import { isInside, safeFilename } from '../files/keys/paths.ts';
import type { FileRecord } from '../state/file-records.ts';
import { leaseUntil } from '../uploads/file-use.ts';
import { beginPending, type CallFiles, type WantedFile } from './call-files.ts';
import type { KeptFiles, Problem } from './kept-files.ts';
import { knownProblem } from './known-problem.ts';
import { FOLDER, type PathName } from './path-names.ts';
import type { RoleDeps } from './role-deps.ts';
import { removed } from './work-copy.ts';

/** Of all folders of one call. */
const FOLDER_BYTES = 100 << 20;
/** Makes artifacts of what the tool has written, and next versions of what it has changed. */
export class FileKeeper {
  readonly #deps: RoleDeps;
  readonly #call: CallFiles;
  readonly #startedAt: number;
  readonly #signal: AbortSignal;
  readonly #files: FileRecord[] = [];
  readonly #names: PathName[] = [];
  readonly #problems: Problem[] = [];

  /** `startedAt`: when the tool was called, by the clock of the replica that did, in milliseconds. */
  constructor(deps: RoleDeps, call: CallFiles, options: { readonly startedAt: number; readonly signal: AbortSignal }) {
    this.#deps = deps;
    this.#call = call;
    this.#startedAt = options.startedAt;
    this.#signal = options.signal;
  }

  async keep(result: ToolResult): Promise<KeptFiles> {
    const { edits, wanted } = this.#call;
    for (const edit of edits) {
      // oxlint-disable-next-line no-await-in-loop -- in the order of the arguments
      await this.#orProblem(`The changed file ${edit.file.filename}`, async () => {
        const file = await edit.keep(this.#signal);
        if (file === undefined) return;
        this.#names.push({ id: edit.copy.place.fileId, rest: undefined, handle: this.#uri(file) });
        this.#add(file);
      });
    }
    const outputs = wanted.filter(({ argument }) => argument.role !== 'out_dir');
    for (const one of outputs) {
      // oxlint-disable-next-line no-await-in-loop -- the same
      await this.#orProblem(`The file of ${one.argument.name}`, () => this.#output(one, result, outputs.length === 1));
    }
    for (const one of wanted.filter(({ argument }) => argument.role === 'out_dir')) {
      // oxlint-disable-next-line no-await-in-loop -- the same
      await this.#orProblem(`The folder of ${one.argument.name}`, () => this.#folder(one));
    }
    for (const handle of await this.#call.changed()) {
      this.#problems.push({
        code: 'file_put_back',
        detail: `The tool has changed ${handle}, which it was given to read only; the file is as it was.`,
      });
    }
    return { files: this.#files, names: this.#names, problems: this.#problems };
  }

  /** `isOnly`: what the tool names elsewhere can be nothing else. */
  async #output({ argument, pending }: WantedFile, result: ToolResult, isOnly: boolean): Promise<void> {
    const { files, records } = this.#deps;
    const { goesOn } = this.#call;
    const before = goesOn ? await records.find(pending, { now: records.now(), ttlMs: null }) : undefined;
    if (before !== undefined) {
      this.#named(pending, before);
      return;
    }
    const search = isOnly
      ? ({ mode: 'regex', locate: ANY_PATH } as const)
      : ({ mode: 'none', locate: () => [] as string[] } as const);
    const found = await findOutput({ stage: files.stage, ...search }, pending, true, result);
    const isStrange = found?.kind === 'elsewhere' && !this.#isOfCall(found.file, pending);
    if (isStrange) await found.file.close();
    if (found === undefined || isStrange) {
      this.#names.push({ id: pending.fileId, rest: undefined, handle: '(no file)' });
      throw new AdapterError('artifact_not_found', `No file of the tool was found for ${argument.name}.`);
    }
    const size = found.kind === 'embedded' ? found.output.bytes.length : found.file.size;
    if (argument.max_bytes !== null && size > argument.max_bytes) {
      if (found.kind !== 'embedded') await found.file.close();
      throw new AdapterError('file_too_large', `It has ${size} bytes; at most ${argument.max_bytes} are kept.`);
    }
    this.#named(pending, await this.#keep(pending, found, true));
  }

  /** Whether a file elsewhere may be what the tool has made now: it is new, and none of the session's other files. */
  #isOfCall(file: OpenedFile, pending: FileRecord): boolean {
    const { stage } = this.#deps.files;
    const kinds = ['upload', 'artifact'] as const;
    const folders = kinds.flatMap((kind) => stage.pathsOf({ ...pending, kind })).map((path) => dirname(dirname(path)));
    return wasWrittenSince(file, this.#startedAt) && !folders.some((folder) => isInside(file.path, folder));
  }

  #named({ fileId }: FileRecord, file: FileRecord): void {
    this.#names.push({ id: fileId, rest: undefined, handle: this.#uri(file) });
    this.#add(file);
  }

  async #folder({ argument, pending }: WantedFile): Promise<void> {
    const { stage } = this.#deps.files;
    const maxBytes = argument.max_bytes ?? FOLDER_BYTES;
    let bytes = 0;
    let left = 0;
    let kept = 0;
    for (const { file, note } of this.#call.earlierNotes) {
      if (note.below?.folder !== pending.fileId) continue;
      if (file === undefined) {
        left += 1;
        continue;
      }
      bytes += file.sizeBytes;
      kept += 1;
      this.#add(file);
      this.#names.push(this.#nameOf(pending, note.below.names, file));
    }
    for await (const names of stage.filesBelow(pending)) {
      if (kept >= argument.max_files || bytes >= maxBytes) {
        left += 1;
        continue;
      }
      const file = await this.#fileOf(pending, names, maxBytes - bytes);
      if (file === undefined) left += 1;
      else {
        bytes += file.sizeBytes;
        kept += 1;
        this.#add(file);
        this.#names.push(this.#nameOf(pending, names, file));
      }
    }
    this.#names.push({ id: pending.fileId, rest: undefined, handle: FOLDER });
    if (left > 0) {
      throw new AdapterError(
        'artifact_limit',
        `${left} files were not kept: of a folder at most ${argument.max_files} files and ${maxBytes} bytes are, and plain files only.`,
      );
    }
    if (kept === 0)
      throw new AdapterError('artifact_not_found', `The tool has left no file in the folder of ${argument.name}.`);
  }

  /** Undefined: it is no plain file, or too large. */
  async #fileOf(folder: FileRecord, names: readonly string[], maxBytes: number): Promise<FileRecord | undefined> {
    const { files } = this.#deps;
    const pending = this.#call.pending(safeFilename(names.at(-1), 'artifact'));
    await beginPending(this.#deps, [pending], this.#deps.artifacts.max_per_session);
    try {
      await files.stage.take(folder, pending, names);
      const file = await files.stage.open(pending);
      await this.#call.note({ fileId: pending.fileId, below: { folder: folder.fileId, names } });
      if (file.size <= maxBytes)
        return await this.#keep(pending, { kind: 'own', file, filename: pending.filename }, true);
      await file.close();
    } catch (error) {
      await removed(this.#deps, pending);
      if (error instanceof FileRefused) return undefined;
      throw error;
    }
    await removed(this.#deps, pending);
    return undefined;
  }

  /** What the tool calls a file of a folder. */
  #nameOf(folder: FileRecord, names: readonly string[], file: FileRecord): PathName {
    return { id: folder.fileId, rest: [folder.filename, ...names].join('/'), handle: this.#uri(file) };
  }

  #keep(pending: FileRecord, found: Parameters<typeof keepArtifact>[2], wasGiven: boolean): Promise<FileRecord> {
    const { records } = this.#deps;
    return keepArtifact(this.#deps, pending, found, {
      wasGiven,
      hashed: true,
      now: () => records.now(),
      leaseUntil: () => Math.max(pending.leaseUntil, leaseUntil(records.now(), null)),
      signal: this.#signal,
    });
  }

  #add(file: FileRecord): void {
    this.#files.push(file);
  }

  #uri(file: FileRecord): string {
    return artifactUri(this.#deps.artifacts.uri_scheme, file);
  }

  async #orProblem(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      // Nobody is left to be told.
      if (this.#signal.aborted) throw error;
      const { code, message } = knownProblem(this.#deps, error);
      this.#deps.telemetry.artifactFailed({ serverId: this.#deps.serverId, reason: code });
      this.#problems.push({
        code: code === 'artifact_not_found' ? 'artifact_not_captured' : code,
        detail: `${what}: ${message}`,
      });
    }
  }
}

const ANY_PATH = locateOutput({ mode: 'regex', output_path_key: null, output_path_regexes: [] });
