import type { AdapterConfig } from '../../crds/config/adapter-file/adapter.ts';
import { dottedPath } from '../../crds/config/load/problem.ts';
import { patternOf } from '../catalog/pattern.ts';

/** A regular expression of the configuration that cannot be compiled, and is therefore skipped. */
export interface UnusablePattern {
  /** Such as `servers[0].disabled_tools[1]`. */
  readonly path: string;
  readonly pattern: string;
  /** What is wrong, and what follows: a sentence whose subject is the path. */
  readonly message: string;
}

/** In the order of the file. */
export function unusablePatterns({ core, servers }: Pick<AdapterConfig, 'core' | 'servers'>): UnusablePattern[] {
  const follows =
    core.invalid_patterns === 'hide_all'
      ? 'all tools of this server are hidden'
      : 'it hides only a tool of exactly this name';
  return servers.flatMap(({ disabled_tools: disabled, adapters }, i) => [
    ...unusable(disabled, ['servers', i, 'disabled_tools'], true, follows),
    ...adapters.flatMap((entry, j) =>
      entry.type === 'artifact_producer'
        ? unusable(
            entry.output_locator.output_path_regexes,
            ['servers', i, 'adapters', j, 'output_locator', 'output_path_regexes'],
            false,
            'it is skipped',
          )
        : entry.type === 'files'
          ? entry.found.flatMap(({ pattern }, k) =>
              pattern === null
                ? []
                : unusable([pattern], ['servers', i, 'adapters', j, 'found', k], false, 'it finds nothing'),
            )
          : [],
    ),
  ]);
}

function unusable(
  patterns: readonly string[],
  at: readonly (string | number)[],
  dotAll: boolean,
  follows: string,
): UnusablePattern[] {
  return patterns.flatMap((source, i) => {
    const pattern = patternOf(source, dotAll);
    if (!('fault' in pattern)) return [];
    return [{ path: dottedPath([...at, i]), pattern: source, message: `${pattern.fault}; ${follows}` }];
  });
}

/**
 * The patterns that the adapter starts without.
 * @throws Error naming them, where it must not
 */
export function toleratedPatterns(config: Pick<AdapterConfig, 'core' | 'servers'>): UnusablePattern[] {
  const unusable = unusablePatterns(config);
  if (unusable.length === 0 || config.core.invalid_patterns !== 'fail') return unusable;
  const all = unusable.map(({ path, pattern, message }) => `${path} (${JSON.stringify(pattern)}) ${message}`);
  throw new Error(`core.invalid_patterns is fail, and there are some. ${all.join('. ')}`);
}
