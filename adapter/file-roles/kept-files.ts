import type { FileRecord } from '../state/file-records.ts';
import type { PathName } from './path-names.ts';

/** What has become of the files of a call whose tool has ended. */
export interface KeptFiles {
  readonly files: readonly FileRecord[];
  readonly names: readonly PathName[];
  readonly problems: readonly Problem[];
}

/** Something that did not become an artifact, for the model and for the log. */
export interface Problem {
  readonly code: string;
  readonly detail: string;
}

export const NOTHING: KeptFiles = { files: [], names: [], problems: [] };
