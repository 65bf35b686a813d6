import { locate, type Span } from '../exchange/scanning/json-scan.ts';
import { successfulResult } from '../artifacts/successful-result.ts';
import type { FileRecord } from '../state/file-records.ts';
import type { CallFiles, RoleCall } from './call-files.ts';
import { foundFiles, type NotTaken } from './found-files.ts';
import { FileKeeper } from './file-keeper.ts';
import { type KeptFiles, NOTHING } from './kept-files.ts';
import { type PathName, renaming, withHandles } from './path-names.ts';
import { withFiles } from './result-files.ts';
import type { RoleDeps } from './role-deps.ts';
import type { ToolRoles } from './tool-roles.ts';

/** What becomes of the files of a call, and what its client gets to see of that. */
export class RoleResults {
  readonly #deps: RoleDeps;
  readonly #roles: ToolRoles;
  readonly #onNotTaken: (tool: string, file: NotTaken) => void;

  constructor(deps: RoleDeps, roles: ToolRoles, onNotTaken: (tool: string, file: NotTaken) => void) {
    this.#deps = deps;
    this.#roles = roles;
    this.#onNotTaken = onNotTaken;
  }

  /** Whether files may come of a call. */
  makesFiles({ edits, wanted }: Pick<CallFiles, 'edits' | 'wanted'>): boolean {
    return edits.length > 0 || wanted.length > 0 || this.#roles.found.length > 0;
  }

  /**
   * Makes artifacts and next versions of what a tool has left; nothing where its result (JSON text) is an error.
   * @param startedAt by the clock of the replica that sent the call, in milliseconds
   */
  async keep(
    { tool }: Pick<RoleCall, 'tool'>,
    files: CallFiles,
    text: string,
    { startedAt, signal }: { readonly startedAt: number; readonly signal: AbortSignal },
  ): Promise<KeptFiles> {
    const result = successfulResult(text);
    if (result === undefined) return { ...NOTHING, names: files.allNames };
    const own = await new FileKeeper(this.#deps, files, { startedAt, signal }).keep(result);
    const { found: rules } = this.#roles;
    const onNotTaken = (file: NotTaken): void => this.#onNotTaken(tool, file);
    const found =
      rules.length === 0
        ? NOTHING
        : await foundFiles(this.#deps, files, { rules, result, startedAt, signal, onNotTaken });
    // The handle of a file names its place too, which must not be taken for a path.
    const isKnown = (id: string): boolean =>
      own.names.some((name) => 'id' in name && name.id === id && name.rest === undefined);
    const others = files.allNames.filter((name) => !('id' in name && isKnown(name.id)));
    return {
      files: [...own.files, ...found.files],
      names: [...own.names, ...found.names, ...others],
      problems: [...own.problems, ...found.problems],
    };
  }

  /** Tells of artifacts that there were none of before. */
  log(files: readonly FileRecord[]): void {
    const { telemetry, serverId, onListChanged } = this.#deps;
    for (const file of files) {
      telemetry.artifact({ serverId, bytes: file.sizeBytes });
      if (file.exposed) onListChanged(file);
    }
  }

  /** A response whose result, at `at`, is that of a tool: handles for paths, and what has become of the files. */
  shown(call: Pick<RoleCall, 'caller' | 'record'>, text: string, at: Span, kept: KeptFiles): Promise<string> {
    const result = text.slice(at.start, at.end);
    const head = renamedMessage(text.slice(0, at.start), kept.names);
    const renamed = head + withHandles(result, { start: 0, end: result.length }, kept.names);
    const place = { start: head.length, end: renamed.length };
    const message = renamed + renamedMessage(text.slice(at.end), kept.names);
    const rename = renaming(kept.names);
    const problems = kept.problems.map((problem) => ({ ...problem, detail: rename(problem.detail) }));
    return withFiles(this.#deps, call, { text: message, at: place }, { files: kept.files, problems });
  }
}

/** Any other message, with handles for paths. What a tool has called its files is looked for in results only. */
export function renamedMessage(text: string, names: readonly PathName[]): string {
  const ours = names.filter((name) => !('text' in name) || name.text.includes('://'));
  return withHandles(text, { start: 0, end: text.length }, ours);
}

/** Where the result stands in the response to a call. */
export const resultAt = (text: string): Span | undefined => locate(text, ['result']);
