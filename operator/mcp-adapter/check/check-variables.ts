import { type Problem, dottedPath } from '../../../crds/config/load/problem.ts';
import { interpolateAll } from '../../../lib/references/reference.ts';
import { valueAt } from '../../../lib/json/tree.ts';
import { listAt, textAt } from '../../kubernetes/unstructured.ts';

/**
 * `${NAME}` in the configuration that no variable of this resource can give a value to. Whether the keys that `envFrom`
 * brings have the right names is not known here, so with it every name passes that has one of its prefixes.
 */
export function undeclaredVariables(resource: unknown): Problem[] {
  const declared = declaredVariables(resource);
  const { found } = interpolateAll(valueAt(resource, ['spec', 'config']), {});
  return found.flatMap(({ path, unset }) =>
    [...new Set(unset)]
      .filter((name) => !declared.names.has(name) && !declared.prefixes.some((prefix) => name.startsWith(prefix)))
      .map((name) => ({
        path: dottedPath(['spec', 'config', ...path]),
        message:
          `refers to the variable ${name}, which neither spec.env nor spec.envFrom declares; declare it there or write ` +
          `\${${name}:-default}`,
      })),
  );
}

function declaredVariables(resource: unknown): { names: ReadonlySet<string>; prefixes: readonly string[] } {
  // A container of the overlay with the name of ours adds to its variables.
  const own = listAt(resource, 'spec', 'podOverlay', 'spec', 'containers').filter(
    (one) => textAt(one, 'name') === 'adapter',
  );
  const all = (name: string): unknown[] => [
    ...listAt(resource, 'spec', name),
    ...own.flatMap((container) => listAt(container, name)),
  ];
  return {
    names: new Set(all('env').flatMap((variable) => textAt(variable, 'name') ?? [])),
    prefixes: all('envFrom').map((source) => textAt(source, 'prefix') ?? ''),
  };
}
