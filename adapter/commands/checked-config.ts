import { stringify } from 'yaml';

import type { AdapterConfig } from '../../crds/config/adapter-file/adapter.ts';
import { redactedConfig } from '../../crds/config/adapter-file/redact-config.ts';
import type { Environment } from '../../lib/references/reference.ts';
import type { CheckedLock } from '../lock/check-lock.ts';
import { unusablePatterns } from '../assembly/unusable-patterns.ts';

export interface CheckedConfig {
  /** For the output. */
  readonly text: string;
  /** What the adapter would run with all the same. */
  readonly warnings: readonly string[];
  /** Whether the file may be used. */
  readonly isFit: boolean;
}

/** What `--check-config` says of a valid file: one line, or all of it with every default applied and secrets left out. */
export function checkedConfig(
  config: AdapterConfig,
  options: { readonly config: string; readonly print: boolean; readonly strict: boolean; readonly lock: CheckedLock },
  env: Environment,
): CheckedConfig {
  const patterns = unusablePatterns(config).map(({ path, message }) => `${path} ${message}`);
  const warnings = [...patterns, ...options.lock.warnings];
  const isFit =
    options.lock.problems.length === 0 &&
    !(options.strict && warnings.length > 0) &&
    !(config.core.invalid_patterns === 'fail' && patterns.length > 0);
  const text = options.print
    ? stringify(redactedConfig(config, env))
    : isFit
      ? `${options.config}: ${summary(config)}\n`
      : '';
  return { text, warnings, isFit };
}

function summary({ servers, state_persistence: { type } }: AdapterConfig): string {
  const ids = servers.map(({ id }) => id).join(', ');
  return `valid: ${servers.length} ${servers.length === 1 ? 'server' : 'servers'} (${ids}), state in ${type}`;
}
