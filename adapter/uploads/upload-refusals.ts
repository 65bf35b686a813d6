import { guidanceOf } from '../catalog/consumer-guidance.ts';
import { errorResult } from '../exchange/edited-call.ts';
import { type FileRecord, MAX_SESSION_FILES } from '../state/file-records.ts';
import type { PreparedCall } from '../tools/visible/tool-step.ts';

/** What is wrong with the argument itself. */
const PROBLEMS = {
  type: 'must be an upload handle or a list of upload handles.',
  ambiguous: 'must be given once, written exactly like this.',
  many: `takes at most ${MAX_SESSION_FILES} upload handles.`,
  missing: 'is missing.',
};
const SHOWN_CHARS = 120;

export interface RefusalOptions {
  /** Keys of `file_path_argument`. */
  readonly path: readonly string[];
  /** `uploads.uri_scheme`. */
  readonly uriScheme: string;
  /** Name of the tool that tells where to upload; undefined when it is hidden. */
  readonly helper: string | undefined;
  /** `accept` of the entry. */
  readonly accept: readonly string[] | null;
}

/** Why a call of a tool that takes files is not made, in words that tell a model what to do. */
export class UploadRefusals {
  readonly #options: RefusalOptions;
  readonly #name: string;

  constructor(options: RefusalOptions) {
    this.#options = options;
    this.#name = options.path.join('.');
  }

  problem(problem: keyof typeof PROBLEMS): PreparedCall {
    return this.#argument(PROBLEMS[problem]);
  }

  /** `value` is no handle at all. */
  noHandle(value: string): PreparedCall {
    return this.#argument(`takes upload handles only; ${shown(value)} is none.`);
  }

  data(uri: string, problem: string): PreparedCall {
    return refused(
      `The data URI ${shown(uri)} in the argument ${this.#name} ${problem}. Write data:<type>;base64,<content>, or upload the file and pass its handle.`,
    );
  }

  type(value: string, { mimeType }: Pick<FileRecord, 'mimeType'>): PreparedCall {
    const types = (this.#options.accept ?? []).join(', ');
    return refused(`The file ${shown(value)} is ${mimeType}; the argument ${this.#name} takes ${types}.`);
  }

  unknown(handle: string): PreparedCall {
    return this.#uploadAgain(`The upload handle ${shown(handle)} is unknown or has expired.`);
  }

  changed(handle: string): PreparedCall {
    return this.#uploadAgain(
      `The file of the upload handle ${shown(handle)} was changed after its upload, so it is not used.`,
    );
  }

  #argument(problem: string): PreparedCall {
    const { path, uriScheme, helper } = this.#options;
    return refused(
      `The argument ${this.#name} ${problem} ${guidanceOf({ path, uriScheme, helper, summaryWords: null })}`,
    );
  }

  #uploadAgain(why: string): PreparedCall {
    const { helper } = this.#options;
    const how =
      helper === undefined
        ? 'Ask the user to upload the file again.'
        : `Call \`${helper}\` and upload the file again as it says.`;
    return refused(`${why} ${how} Then call this tool again with the new handle.`);
  }
}

/** A result that a model can read. */
export const refused = (text: string): PreparedCall => ({ kind: 'result', result: errorResult(text) });

/** The client's own words, which may be the whole file. */
function shown(value: string): string {
  return JSON.stringify(value.length > SHOWN_CHARS ? `${value.slice(0, SHOWN_CHARS)}…` : value);
}
