import { UsageError } from '../command-line.ts';

/** Options of the commands that read files of resources. */
export const MANIFEST_OPTIONS = {
  filename: { type: 'string', short: 'f', multiple: true },
  namespace: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

/**
 * The files and folders that such a command names, with `-f` or without.
 * @throws UsageError when there are none
 */
export function manifestPaths({ filename = [] }: { readonly filename?: string[] }, positionals: readonly string[]) {
  const paths = [...filename, ...positionals];
  if (paths.length === 0) throw new UsageError('which files? Give -f with a file or a folder');
  return paths;
}
