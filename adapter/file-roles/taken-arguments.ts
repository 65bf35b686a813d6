import { splice } from '../exchange/scanning/json-scan.ts';
import { mayBeList, schemaPath } from '../catalog/schema-path.ts';
import type { FileRecord } from '../state/file-records.ts';
import type { ToolCall } from '../tools/visible/tool-step.ts';
import { fileArguments, type FileValue, withFileArgument } from '../uploads/file-arguments.ts';
import { leaseUntil } from '../uploads/file-use.ts';
import type { CallFiles } from './call-files.ts';
import { handleGuidance } from './role-guidance.ts';
import type { RoleDeps } from './role-deps.ts';
import type { RoleArgument } from './tool-roles.ts';

const SHOWN_CHARS = 120;
/** Each is a folder of its own while the call runs. */
const MAX_CALL_FILES = 100;

/** What a model has done wrong, and can do better. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

/** What is put into the body: the value of an argument, in the place of another or where there was none. */
type Edit = Place & { readonly path: string };
type Place = { readonly at: FileValue } | { readonly keys: readonly string[] };

/** An argument of a call that names a file, or a place for one. */
interface Named {
  readonly argument: RoleArgument;
  readonly place: Place;
  readonly value: string | undefined;
}

/** A file that the call changes. */
interface Changed extends Named {
  readonly handle: string;
  readonly file: FileRecord;
}

/** Takes the files that the arguments of a call name, and says what the tool gets for them. */
export class TakenArguments {
  /** Files in use. Whoever takes them gives them back, also when `body` fails. */
  readonly uses: FileRecord[] = [];
  readonly #deps: RoleDeps;
  readonly #call: ToolCall;
  readonly #files: CallFiles;

  constructor(deps: RoleDeps, call: ToolCall, files: CallFiles) {
    this.#deps = deps;
    this.#call = call;
    this.#files = files;
  }

  /** The body that the tool gets. Fails with Refusal, FileRefused, and with `storage_busy` and the quotas' errors. */
  async body(roles: readonly RoleArgument[]): Promise<string> {
    const edits: Edit[] = [];
    const changed: Changed[] = [];
    const paths = new Map<string, string>();
    for (const named of await this.#named(roles)) {
      const { argument, place, value } = named;
      if (argument.role === 'edit' && value !== undefined && this.#deps.handles.isHandle(value)) {
        // oxlint-disable-next-line no-await-in-loop -- files are taken one after the other
        changed.push({ ...named, handle: value, file: await this.#take(value) });
        continue;
      }
      const key = `${argument.name} ${value}`;
      let path = argument.role === 'in' && value !== undefined ? paths.get(key) : undefined;
      // oxlint-disable-next-line no-await-in-loop -- the same
      path ??= await this.#path(argument, value);
      paths.set(key, path);
      edits.push({ ...place, path });
    }
    // Locks come last and in the same order in all calls, so that none waits for what another has that waits for it.
    for (const { argument, place, handle, file } of changed.toSorted(byFile)) {
      const key = `edit ${fileName(file)}`;
      // oxlint-disable-next-line no-await-in-loop -- locks are taken one after the other
      const path = paths.get(key) ?? (await this.#files.edit(file, handle, argument));
      paths.set(key, path);
      edits.push({ ...place, path });
    }
    const body = withValues(this.#call.body.text, edits);
    if (body === undefined) throw new Refusal('The arguments of the tool must be an object.');
    return body;
  }

  /** What the call says of files, argument by argument. */
  async #named(roles: readonly RoleArgument[]): Promise<Named[]> {
    const named: Named[] = [];
    for (const argument of roles) {
      // oxlint-disable-next-line no-await-in-loop -- a tool has few
      for (const place of await this.#places(argument)) {
        named.push({ argument, place, value: 'at' in place ? place.at.value : undefined });
        if (named.length > MAX_CALL_FILES) throw new Refusal(`A call takes at most ${MAX_CALL_FILES} files.`);
      }
    }
    return named;
  }

  /** Where an argument stands in the call, or where it is to be put. */
  async #places(argument: RoleArgument): Promise<Place[]> {
    const found = fileArguments(this.#call.body.text, argument.keys);
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
    const schema = await this.#deps.schemas.of(this.#call);
    const properties = schema === undefined ? [] : schemaPath(schema, argument.keys, true);
    const last = properties.at(-1);
    const isWanted = properties.length === argument.keys.length && properties.every(({ required }) => required);
    if (schema === undefined || last === undefined || !isWanted || mayBeList(schema, last.span)) return [];
    return [{ keys: argument.keys }];
  }

  /** The path of a file to read or write. */
  async #path(argument: RoleArgument, value: string | undefined): Promise<string> {
    const { handles, artifacts } = this.#deps;
    const files = this.#files;
    if (argument.role === 'out' || argument.role === 'out_dir') return files.want(argument, value);
    const handle = value ?? '';
    if (!handles.isHandle(handle)) {
      if (argument.as === 'file_uri' && argument.role === 'in' && /^https?:\/\//i.test(handle)) return handle;
      if (argument.role === 'edit' && argument.create) return files.want(argument, handle);
      throw new Refusal(
        `The argument ${argument.name} takes handles of files; ${shown(handle)} is none. ${handleGuidance(artifacts.uri_scheme)}`,
      );
    }
    return files.give(await this.#take(handle), handle, argument);
  }

  async #take(handle: string): Promise<FileRecord> {
    const { handles, records } = this.#deps;
    const file = await handles.take(this.#call, handle, leaseUntil(records.now(), this.#call.timeoutMs));
    if (file === undefined)
      throw new Refusal(`The file ${shown(handle)} is unknown or has expired. Make it or upload it again.`);
    this.uses.push(file);
    return file;
  }
}

/** The same for an upload and the artifact that it becomes. */
const fileName = ({ serverId, sessionId, fileId }: FileRecord): string => `${serverId} ${sessionId} ${fileId}`;

const byFile = (a: Changed, b: Changed): number => (fileName(a.file) < fileName(b.file) ? -1 : 1);

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

const shown = (value: string): string =>
  JSON.stringify(value.length > SHOWN_CHARS ? `${value.slice(0, SHOWN_CHARS)}…` : value);
