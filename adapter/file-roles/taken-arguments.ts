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
    const byRole = new Map<string, string>();
    for (const argument of ordered(roles)) {
      // oxlint-disable-next-line no-await-in-loop -- locks are taken one after the other
      for (const one of await this.#places(argument)) {
        const isRead = argument.role === 'in' || argument.role === 'edit';
        const value = 'at' in one ? one.at.value : undefined;
        const key = `${argument.role === 'edit' ? 'edit' : argument.name} ${value}`;
        let path = isRead && value !== undefined ? byRole.get(key) : undefined;
        // oxlint-disable-next-line no-await-in-loop -- the same
        path ??= await this.#path(argument, value);
        byRole.set(key, path);
        edits.push({ ...one, path });
        if (edits.length > MAX_CALL_FILES) throw new Refusal(`A call takes at most ${MAX_CALL_FILES} files.`);
      }
    }
    const body = withValues(this.#call.body.text, edits);
    if (body === undefined) throw new Refusal('The arguments of the tool must be an object.');
    return body;
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

  async #path(argument: RoleArgument, value: string | undefined): Promise<string> {
    const { handles, records, artifacts } = this.#deps;
    const call = this.#call;
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
    const file = await handles.take(call, handle, leaseUntil(records.now(), call.timeoutMs));
    if (file === undefined)
      throw new Refusal(`The file ${shown(handle)} is unknown or has expired. Make it or upload it again.`);
    this.uses.push(file);
    return argument.role === 'in' ? files.give(file, handle, argument) : files.edit(file, handle, argument);
  }
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

const shown = (value: string): string =>
  JSON.stringify(value.length > SHOWN_CHARS ? `${value.slice(0, SHOWN_CHARS)}…` : value);
