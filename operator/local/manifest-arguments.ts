import { UsageError, wordOf } from '../command-line.ts';
import { DEFAULT_PERMISSIONS, POD_OVERLAYS, type Permissions } from '../validation/permissions.ts';

/** Options of the commands that read files of resources. */
export const MANIFEST_OPTIONS = {
  filename: { type: 'string', short: 'f', multiple: true },
  namespace: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** Options of the commands that say what the operator of a cluster would make of them. */
export const PERMISSION_OPTIONS = {
  'pod-overlay': { type: 'string' },
  'allow-literal-secrets': { type: 'boolean' },
} as const;

export const PERMISSION_USAGE = `\
  --pod-overlay WORD    none, restricted or all, as the operator of the cluster has it (default: restricted)
  --allow-literal-secrets
                        secrets may stand in resources as they are, where the operator allows it`;

/** @throws UsageError */
export const permissionsOf = (values: {
  readonly 'pod-overlay'?: string;
  readonly 'allow-literal-secrets'?: boolean;
}): Permissions => ({
  ...DEFAULT_PERMISSIONS,
  podOverlay: wordOf('pod-overlay', values['pod-overlay'] ?? DEFAULT_PERMISSIONS.podOverlay, POD_OVERLAYS),
  literalSecrets: values['allow-literal-secrets'] ?? false,
});

/**
 * The files and folders that such a command names, with `-f` or without.
 * @throws UsageError when there are none
 */
export function manifestPaths({ filename = [] }: { readonly filename?: string[] }, positionals: readonly string[]) {
  const paths = [...filename, ...positionals];
  if (paths.length === 0) throw new UsageError('which files? Give -f with a file or a folder');
  return paths;
}
