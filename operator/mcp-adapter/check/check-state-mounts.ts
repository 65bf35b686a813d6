import { type Problem, dottedPath } from '../../../crds/config/load/problem.ts';
import { listAt, textAt } from '../../kubernetes/unstructured.ts';
import { CONTAINER, STATE_SUBPATH } from '../config/defaults.ts';
import { folderIn, storageVolumes } from '../build/storage-folders.ts';

const OVERLAY = ['spec', 'podOverlay', 'spec'] as const;

/** Containers beside the adapter that mount the folder of its state, or what nobody can tell from it. */
export function stateMountProblems(resource: unknown): Problem[] {
  const volumes = storageVolumes(listAt(resource, ...OVERLAY, 'volumes'), claimNames(resource));
  return ['initContainers', 'containers'].flatMap((list) =>
    listAt(resource, ...OVERLAY, list).flatMap((container, index) => {
      if (textAt(container, 'name') === CONTAINER) return [];
      return listAt(container, 'volumeMounts').flatMap((mount, at) => {
        if (!volumes.has(textAt(mount, 'name') ?? '')) return [];
        const path = dottedPath([...OVERLAY, list, index, 'volumeMounts', at]);
        const message = problemOf(mount);
        return message === undefined ? [] : [{ path, message }];
      });
    }),
  );
}

function problemOf(mount: unknown): string | undefined {
  if (textAt(mount, 'subPathExpr') !== undefined) {
    return 'must name its folder of the storage by subPath: subPathExpr could mean the state, which is the adapter’s alone';
  }
  const [folder] = folderIn(mount).split('/');
  if (folder !== STATE_SUBPATH) return undefined;
  return 'mounts the state, which is the adapter’s alone; mount uploads or artifacts, or leave subPath out to get both';
}

function claimNames(resource: unknown): string[] {
  const existing = textAt(resource, 'spec', 'storage', 'existingClaim');
  return [`${textAt(resource, 'metadata', 'name') ?? ''}-storage`, ...(existing === undefined ? [] : [existing])];
}
