import { type Problem, dottedPath } from '../../crds/config/load/problem.ts';
import { type Path, valueAt } from '../../lib/json/tree.ts';
import { isObject } from '../../lib/json/json-object.ts';
import { listAt } from '../kubernetes/unstructured.ts';

/** Source: Kubernetes, "Quantity". The API server does not say which field has a wrong one, only that it could not read it. */
const QUANTITY = /^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+|[EPTGMk]|[EPTGMK]i|[num])?$/;

const OVERLAY: Path = ['spec', 'podOverlay', 'spec'];

/** Requests and limits that are no quantities, of the program and of the containers of the overlay. */
export function quantityProblems(resource: unknown): Problem[] {
  const containers = ['containers', 'initContainers'].flatMap((list) =>
    listAt(resource, ...OVERLAY, list).map((_, index) => [...OVERLAY, list, index, 'resources']),
  );
  return [['spec', 'resources'], ...containers].flatMap((at) =>
    ['requests', 'limits'].flatMap((kind) => wrongQuantities(resource, [...at, kind])),
  );
}

function wrongQuantities(resource: unknown, at: Path): Problem[] {
  const quantities = valueAt(resource, at);
  if (!isObject(quantities)) return [];
  return Object.entries(quantities)
    .filter(([, quantity]) => quantity !== null && !isQuantity(quantity))
    .map(([name, quantity]) => ({
      path: dottedPath([...at, name]),
      message: `is ${JSON.stringify(quantity)}, which is no quantity; write such as 500m, 2, 128Mi or 1Gi`,
    }));
}

const isQuantity = (value: unknown): boolean =>
  typeof value === 'number' || (typeof value === 'string' && QUANTITY.test(value));
