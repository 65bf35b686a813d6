import type { FILE_ROLES } from '../../crds/config/adapter-file/file-rules.ts';

export type FileRole = (typeof FILE_ROLES)[number];

/** What a rule makes of one argument of one tool. */
export interface Suggestion {
  readonly tool: string;
  /** Path of the argument: `path`, `sources[].path`. */
  readonly argument: string;
  readonly role: FileRole;
  readonly as: 'path' | 'file_uri';
  /** Name of the rule that decided, and what it goes by. */
  readonly rule: string;
  readonly because: string;
  /** What a person should look at; undefined: the tool says it clearly. */
  readonly unsure: string | undefined;
}

/** An argument that looks like a file and is left out. */
export interface LeftOut {
  readonly tool: string;
  readonly argument: string;
  readonly rule: string;
  readonly because: string;
}
