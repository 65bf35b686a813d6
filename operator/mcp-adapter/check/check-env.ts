import type { Problem } from '../../../crds/config/load/problem.ts';
import { isCodeVariable } from '../../../crds/v1alpha1/code-variables.ts';
import { listAt, textAt } from '../../kubernetes/unstructured.ts';

/** Entries of `spec.env` that are more than values for `${NAME}`. */
export const codeVariables = (resource: unknown): Problem[] =>
  listAt(resource, 'spec', 'env').flatMap((variable, index) => {
    const name = textAt(variable, 'name') ?? '';
    if (!isCodeVariable(name)) return [];
    const message =
      `is ${name}, which changes what the adapter runs or whom it trusts; use another name for a value of the configuration, ` +
      'or set it with spec.podOverlay in the container adapter';
    return [{ path: `spec.env[${index}].name`, message }];
  });
