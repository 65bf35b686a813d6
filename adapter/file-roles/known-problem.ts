import { AdapterError } from '../errors.ts';
import { FileRefused, isFull } from '../files/keys/file-key.ts';
import type { RoleDeps } from './role-deps.ts';

/** Why a file was not kept, as the error that says so. */
export function knownProblem({ known }: Pick<RoleDeps, 'known'>, error: unknown): AdapterError {
  if (error instanceof FileRefused) {
    const why = REFUSALS[error.reason] ?? 'it cannot be read';
    return new AdapterError('artifact_not_found', `${why}.`, { cause: error });
  }
  if (isFull(error)) return new AdapterError('storage_quota', undefined, { cause: error });
  return known(error);
}

/** What an author of a tool can do something about. */
const REFUSALS: Readonly<Partial<Record<FileRefused['reason'], string>>> = {
  missing: 'it is not there any more',
  not_a_file: 'it is no regular file',
  linked: 'it is a link, or has another name too',
  changed: 'it was changed while it was read',
};
