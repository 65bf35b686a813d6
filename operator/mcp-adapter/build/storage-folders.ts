/** Pure: which folders of the storage the containers of a pod see. */
import { posix } from 'node:path';
import { serverFolder } from '../../../crds/config/adapter-file/server-folder.ts';
import { RefusedError } from '../../tasks/refused-error.ts';
import { isObject } from '../../../lib/json/json-object.ts';
import { listAt, textAt } from '../../kubernetes/unstructured.ts';
import { CONTAINER, FOLDERS_CONTAINER, STATE_SUBPATH, STORAGE_VOLUME } from '../config/defaults.ts';
import type { EffectiveConfig } from '../config/effective-config.ts';
import { isLoopback } from '../config/loopback.ts';

/** Every server may have folders in every container; the API server takes no pod that large. */
const MAX_MOUNTS = 5000;
const TOO_MANY_MOUNTS = `gives the containers more than ${MAX_MOUNTS} mounts: too many containers mount the storage with folders of too many servers`;

/** Folders of files. */
const TREES = ['artifacts', 'uploads'];

type PodSpec = Readonly<Record<string, unknown>>;
type Mount = Readonly<Record<string, unknown>>;
type Known = Pick<EffectiveConfig, 'storageRoot' | 'perServer' | 'outputFolders' | 'servers'>;

/** Where the storage is mounted in the container of the adapter. */
interface Root {
  readonly volume: string;
  /** Every volume of the pod that is the same. */
  readonly volumes: ReadonlySet<string>;
  /** Relative to the volume; '' for all of it. */
  readonly subPath: string;
}

/**
 * The adapter sees all of its storage, and the folder of its state as a mount of its own. Other containers that mount the
 * storage as a whole get the folders of files instead: the state holds sessions and keys, and is nobody else's.
 *
 *     adapter   storage → /data/shared           storage/state → /data/shared/state
 *     sidecar   storage/uploads → /data/shared/uploads      storage/artifacts → /data/shared/artifacts
 *
 * With folders for each server, a sidecar that is one of the servers gets its own only.
 */
export function withStorageFolders(spec: PodSpec, config: Known): PodSpec {
  const root = rootOf(spec, config);
  if (root === undefined) return spec;
  const changed = (container: unknown): unknown => {
    if (!isObject(container)) return container;
    const mounts = listAt(container, 'volumeMounts').filter(isObject);
    if (textAt(container, 'name') === CONTAINER) {
      return { ...container, volumeMounts: withState(mounts, root, config) };
    }
    if (mounts.length === 0) return container;
    const folders = foldersOf(container, config);
    return {
      ...container,
      volumeMounts: mounts.flatMap((mount) => (isWhole(mount, root) ? split(mount, folders) : [mount])),
    };
  };
  const mounted = (list: string): unknown[] => {
    let mounts = 0;
    return listAt(spec, list).map((container) => {
      const one = changed(container);
      mounts += listAt(one, 'volumeMounts').length;
      if (mounts > MAX_MOUNTS) throw new RefusedError('spec.podOverlay', TOO_MANY_MOUNTS);
      return one;
    });
  };
  const init = mounted('initContainers');
  const containers = mounted('containers');
  const first = [...init, ...containers].some(hasOwnFolder) ? [maker(spec, root, config)] : [];
  return {
    ...spec,
    ...(first.length + init.length === 0 ? {} : { initContainers: [...first, ...init] }),
    containers,
  };
}

const hasOwnFolder = (container: unknown): boolean =>
  listAt(container, 'volumeMounts').some((mount) => TREES.some((tree) => folderIn(mount).includes(`${tree}/`)));

/**
 * The kubelet makes folders that are mounted and missing, with the rights of the volume; those on the way to them it makes
 * for root alone (doSafeMakeDir in kubernetes/pkg/volume/util/subpath), and the adapter could add no other server's. So
 * they are mounted first.
 */
function maker(spec: PodSpec, root: Root, { storageRoot }: Known): unknown {
  const adapter = listAt(spec, 'containers').find((one) => textAt(one, 'name') === CONTAINER);
  const { image, imagePullPolicy, resources, securityContext } = isObject(adapter) ? adapter : {};
  const mount = { name: root.volume, mountPath: storageRoot, subPath: root.subPath };
  return {
    name: FOLDERS_CONTAINER,
    image,
    ...(imagePullPolicy === undefined ? {} : { imagePullPolicy }),
    command: ['mcp-adapter', '--version'],
    resources: structuredClone(resources),
    securityContext: structuredClone(securityContext),
    volumeMounts: split(mount, TREES),
  };
}

/** Whatever the overlay has made of it; undefined where nothing is mounted at the root, or the operator cannot know what. */
function rootOf(spec: PodSpec, { storageRoot }: Known): Root | undefined {
  const adapter = listAt(spec, 'containers').find((one) => textAt(one, 'name') === CONTAINER);
  const mount = listAt(adapter, 'volumeMounts').find((one) => normalized(textAt(one, 'mountPath')) === storageRoot);
  const volume = textAt(mount, 'name');
  if (volume === undefined || textAt(mount, 'subPathExpr') !== undefined) return undefined;
  const volumes = listAt(spec, 'volumes');
  const claim = claimOf(volumes.find((one) => textAt(one, 'name') === volume));
  return {
    volume,
    volumes: new Set([volume, ...(claim === undefined ? [] : storageVolumes(volumes, [claim]))]),
    subPath: folderIn(mount),
  };
}

function withState(mounts: readonly Mount[], root: Root, { storageRoot }: Known): readonly Mount[] {
  const mountPath = posix.join(storageRoot, STATE_SUBPATH);
  if (mounts.some((mount) => normalized(textAt(mount, 'mountPath')) === mountPath)) return mounts;
  return [...mounts, { name: root.volume, mountPath, subPath: posix.join(root.subPath, STATE_SUBPATH) }];
}

const isWhole = (mount: Mount, root: Root): boolean =>
  root.volumes.has(textAt(mount, 'name') ?? '') &&
  textAt(mount, 'subPathExpr') === undefined &&
  folderIn(mount) === root.subPath;

function split(mount: Mount, folders: readonly string[]): Mount[] {
  const [path, subPath] = [textAt(mount, 'mountPath') ?? '', folderIn(mount)];
  return folders.map((folder) => ({
    ...mount,
    mountPath: posix.join(path, folder),
    subPath: posix.join(subPath, folder),
  }));
}

function foldersOf(container: unknown, { perServer, servers, outputFolders }: Known): string[] {
  const own = perServer ? servers.filter((server) => runs(container, server)) : [];
  const ids = own.flatMap(({ id }) => (id === undefined ? [] : [id]));
  const files = ids.length === 0 ? TREES : TREES.flatMap((tree) => ids.map((id) => `${tree}/${serverFolder(id)}`));
  return [...files, ...outputFolders.filter((folder) => !isBelow(folder, [...TREES, STATE_SUBPATH]))];
}

/** Whether a container is this server: it is called so, or has the port that the server's URL names in the pod. */
function runs(container: unknown, { id, url }: Known['servers'][number]): boolean {
  if (id !== undefined && textAt(container, 'name') === id) return true;
  if (url === undefined || !URL.canParse(url)) return false;
  const { hostname, port, protocol } = new URL(url);
  const isHere = hostname === 'localhost' || isLoopback(hostname.replaceAll(/[[\]]/g, ''));
  const wanted = Number(port || (protocol === 'https:' ? 443 : 80));
  return isHere && listAt(container, 'ports').some((one) => isObject(one) && one['containerPort'] === wanted);
}

const isBelow = (folder: string, trees: readonly string[]): boolean =>
  trees.some((tree) => folder === tree || folder.startsWith(`${tree}/`));

/** Names of the volumes that are one of these claims, and the operator's own. */
export const storageVolumes = (volumes: readonly unknown[], claims: readonly string[]): ReadonlySet<string> =>
  new Set([
    STORAGE_VOLUME,
    ...volumes.flatMap((one) => (claims.includes(claimOf(one) ?? '') ? [textAt(one, 'name') ?? ''] : [])),
  ]);

const claimOf = (volume: unknown): string | undefined => textAt(volume, 'persistentVolumeClaim', 'claimName');

const normalized = (path: string | undefined): string => posix.resolve('/', path ?? '');

/** Which folder of its volume is mounted, without dots and slashes around it. */
export const folderIn = (mount: unknown): string => normalized(textAt(mount, 'subPath')).slice(1);
