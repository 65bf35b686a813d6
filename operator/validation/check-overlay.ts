import { type Problem, dottedPath } from '../../crds/config/load/problem.ts';
import { withoutEndSlashes } from '../../lib/slashes.ts';
import { GROUP } from '../../crds/v1alpha1/api.ts';
import { type Path, valueAt } from '../../lib/json/tree.ts';
import { isObject } from '../../lib/json/json-object.ts';
import { listAt, textAt } from '../kubernetes/unstructured.ts';

const OVERLAY = ['spec', 'podOverlay'] as const;

/** Lists of a PodSpec that merge by the name of their members. */
const NAMED = ['containers', 'initContainers', 'volumes'] as const;

/** Labels that selectors and caches of the operator rely on. */
const OWN_LABELS = ['app.kubernetes.io/name', 'app.kubernetes.io/component', 'app.kubernetes.io/managed-by'];

/**
 * What an overlay must not do: break the way pods are found, or the way its lists merge. Whether the rest is a valid
 * PodSpec is for the API server to say, which knows the fields of its own version.
 */
export function overlayProblems(resource: unknown, main: MainContainer): Problem[] {
  return [...ownKeys(resource), ...unnamed(resource), ...impossible(resource, main)].map(({ at, message }) => ({
    path: dottedPath([...OVERLAY, ...at]),
    message,
  }));
}

/** The container that runs the program. */
export interface MainContainer {
  readonly name: string;
  /** The field that its port `http` comes from. */
  readonly port: string;
  /** Where the operator mounts what the program cannot do without, and what that is. */
  readonly mounts: Readonly<Record<string, string>>;
}

interface Violation {
  at: Path;
  message: string;
}

function ownKeys(resource: unknown): Violation[] {
  return ['labels', 'annotations'].flatMap((name) => {
    const found = valueAt(resource, [...OVERLAY, 'metadata', name]);
    const keys = isObject(found) ? Object.keys(found) : [];
    return keys
      .filter((key) => key.startsWith(`${GROUP}/`) || (name === 'labels' && OWN_LABELS.includes(key)))
      .map((key) => ({ at: ['metadata', name, key], message: 'belongs to the operator and cannot be set here' }));
  });
}

function unnamed(resource: unknown): Violation[] {
  return NAMED.flatMap((list) => {
    const value = valueAt(resource, [...OVERLAY, 'spec', list]);
    const at = ['spec', list];
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) return [{ at, message: 'must be a list' }];
    const seen = new Set<string>();
    return value.flatMap((item: unknown, index) => {
      const name = textAt(item, 'name');
      if (name === undefined || name === '') {
        return [{ at: [...at, index], message: 'needs a name: the entries of this list are merged by it' }];
      }
      const isDuplicate = seen.has(name);
      seen.add(name);
      return isDuplicate ? [{ at: [...at, index, 'name'], message: `is there twice: ${name}` }] : [];
    });
  });
}

function impossible(resource: unknown, main: MainContainer): Violation[] {
  const problems: Violation[] = [];
  const restart = textAt(resource, ...OVERLAY, 'spec', 'restartPolicy');
  if (restart !== undefined && restart !== 'Always') {
    problems.push({ at: ['spec', 'restartPolicy'], message: 'can only be Always in a Deployment' });
  }
  if (valueAt(resource, [...OVERLAY, 'spec', 'ephemeralContainers']) !== undefined) {
    problems.push({ at: ['spec', 'ephemeralContainers'], message: 'cannot be part of a Deployment' });
  }
  listAt(resource, ...OVERLAY, 'spec', 'containers').forEach((container, index) => {
    if (textAt(container, 'name') !== main.name) return;
    listAt(container, 'volumeMounts').forEach((mount, place) => {
      const path = withoutEndSlashes(textAt(mount, 'mountPath') ?? '');
      const hidden = Object.hasOwn(main.mounts, path) ? main.mounts[path] : undefined;
      const volume = textAt(mount, 'name');
      if (hidden === undefined || volume === undefined || volume === hidden) return;
      const message = `hides what the operator mounts there, the volume ${hidden}; mount ${volume} elsewhere, or lay another source over the volume ${hidden}`;
      problems.push({ at: ['spec', 'containers', index, 'volumeMounts', place, 'mountPath'], message });
    });
    if (listAt(container, 'ports').some((port) => textAt(port, 'name') === 'http')) {
      const message = `must leave the port http alone: it is ${main.port}`;
      problems.push({ at: ['spec', 'containers', index, 'ports'], message });
    }
  });
  return problems;
}
