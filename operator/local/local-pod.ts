import { BLOCK_LOOPBACK } from '../../lib/net/guarded-connect.ts';
import { isAbsolute, join } from 'node:path';
import { withoutEndSlashes } from '../../lib/slashes.ts';
import { parse, stringify } from 'yaml';
import { FOLDERS_CONTAINER } from '../mcp-adapter/config/defaults.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';

/** A process that stands for a container. */
export interface LocalContainer {
  readonly name: string;
  /** The program and its arguments, as in the container. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where it starts; undefined: anywhere. */
  readonly folder: string | undefined;
}

/** A pod as processes of this machine: what its volumes hold lies in folders, and its ports are free ones. */
export interface LocalPod {
  /** Of the Deployment. */
  readonly name: string;
  /** In the order in which they end. */
  readonly containers: readonly LocalContainer[];
  /** Folders to make. */
  readonly folders: readonly string[];
  /** Files to write, by absolute path. */
  readonly files: Readonly<Record<string, string>>;
  /** What keeps it from running, for people. */
  readonly problems: readonly string[];
}

/** Where the values of variables and files come from. */
export interface LocalWorld {
  /** Folder of this resource. */
  readonly folder: string;
  /** Data of a Secret or ConfigMap among the files, decoded. */
  readonly data: (kind: 'Secret' | 'ConfigMap', name: string) => Readonly<Record<string, string>> | undefined;
  /** Variables of the machine, where nothing else defines one. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Which port of this machine stands for a port of the pod. */
  readonly port: (containerPort: number) => number;
}

interface Container {
  readonly name: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  readonly env?: readonly EnvVar[];
  readonly envFrom?: readonly EnvFrom[];
  readonly ports?: readonly { readonly containerPort: number }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly subPath?: string }[];
}
interface KeyReference {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}
interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef?: KeyReference; readonly configMapKeyRef?: KeyReference };
}
interface EnvFrom {
  readonly prefix?: string;
  readonly secretRef?: { readonly name: string; readonly optional?: boolean };
  readonly configMapRef?: { readonly name: string; readonly optional?: boolean };
}
interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name: string };
  readonly secret?: { readonly secretName: string };
}
interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
}

/**
 * The pods of a Deployment as one set of processes. Pure: nothing is written or started. A path below a mount becomes
 * the path of a folder here, and a port of the pod one of this machine, in arguments, variables and files alike.
 */
export function localPod(deployment: KubernetesObject, ours: readonly KubernetesObject[], world: LocalWorld): LocalPod {
  const { spec } = (deployment['spec'] as { template: { spec: PodSpec } }).template;
  const containers = [
    ...spec.containers,
    // Here folders are made with all others.
    ...(spec.initContainers ?? []).filter(({ name }) => name !== FOLDERS_CONTAINER),
  ];
  const problems: string[] = [];
  const places = folderOfMounts(containers, world.folder);
  const ports = new Map(
    containers.flatMap((one) => (one.ports ?? []).map(({ containerPort: port }) => [port, world.port(port)] as const)),
  );
  const local = (text: string): string => withPorts(withFolders(text, places), ports);

  const files: Record<string, string> = {};
  for (const volume of spec.volumes ?? []) {
    for (const [key, content] of Object.entries(volumeData(volume, ours, world))) {
      files[join(world.folder, 'volumes', volume.name, key)] = /\.ya?ml$/.test(key)
        ? localYaml(content, local)
        : content;
    }
  }
  return {
    name: deployment.metadata.name,
    folders: [...new Set([...places.values(), ...Object.keys(files).map((file) => join(file, '..'))])],
    files,
    containers: containers.map((one) => ({
      name: one.name,
      command: [...(one.command ?? []), ...(one.args ?? [])].map(local),
      folder:
        one.workingDir === undefined || withFolders(one.workingDir, places) === one.workingDir
          ? undefined
          : local(one.workingDir),
      env: Object.fromEntries(
        Object.entries(variables(one, ours, world, problems)).map(([name, value]) => [name, local(value)]),
      ),
    })),
    problems: [
      ...problems,
      ...containers
        .filter((one) => (one.command ?? []).length === 0)
        .map(
          (one) => `container ${one.name} has no command; without a cluster there are no images, so say what to run`,
        ),
    ],
  };
}

/** Mount paths of all containers to folders; equal volumes share one. The longest path first. */
function folderOfMounts(containers: readonly Container[], folder: string): Map<string, string> {
  const mounts = containers.flatMap((one) => one.volumeMounts ?? []);
  return new Map(
    mounts
      .filter(({ mountPath }) => isAbsolute(mountPath))
      .map(
        ({ name, mountPath, subPath = '' }) =>
          [withoutEndSlashes(mountPath), join(folder, 'volumes', name, subPath)] as const,
      )
      .sort(([a], [b]) => b.length - a.length),
  );
}

function withFolders(text: string, places: ReadonlyMap<string, string>): string {
  for (const [mount, folder] of places) {
    if (text === mount || text.startsWith(`${mount}/`)) return folder + text.slice(mount.length);
  }
  return text;
}

/** `8931`, `--port=8931`, `http://127.0.0.1:8931/mcp`: the port as a word of its own, or of an address of this machine. */
function withPorts(text: string, ports: ReadonlyMap<number, number>): string {
  const port = (written: string): string => String(ports.get(Number(written)) ?? written);
  return text
    .replace(
      /^(--?[\w-]+=)?(\d{1,5})$/,
      (_, option: string | undefined, number: string) => `${option ?? ''}${port(number)}`,
    )
    .replaceAll(/\b(localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0):(\d{1,5})\b/g, (_, host: string, number: string) => {
      return `${host}:${port(number)}`;
    });
}

function localYaml(content: string, local: (text: string) => string): string {
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return local(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item)]));
  };
  return stringify(walk(parse(content)));
}

function volumeData(volume: Volume, ours: readonly KubernetesObject[], world: LocalWorld): Record<string, string> {
  const { configMap, secret } = volume;
  if (configMap !== undefined) return { ...(ownData(ours, configMap.name) ?? world.data('ConfigMap', configMap.name)) };
  return secret === undefined ? {} : { ...world.data('Secret', secret.secretName) };
}

function ownData(ours: readonly KubernetesObject[], name: string): Record<string, string> | undefined {
  const found = ours.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name);
  return found?.['data'] as Record<string, string> | undefined;
}

function variables(
  container: Container,
  ours: readonly KubernetesObject[],
  world: LocalWorld,
  problems: string[],
): Record<string, string> {
  const result: Record<string, string> = {};
  const data = (kind: 'Secret' | 'ConfigMap', name: string): Readonly<Record<string, string>> | undefined =>
    (kind === 'ConfigMap' ? ownData(ours, name) : undefined) ?? world.data(kind, name);
  for (const { prefix = '', secretRef, configMapRef } of container.envFrom ?? []) {
    const reference = secretRef ?? configMapRef;
    if (reference === undefined) continue;
    const kind = secretRef === undefined ? 'ConfigMap' : 'Secret';
    const values = data(kind, reference.name);
    if (values === undefined && reference.optional !== true) {
      problems.push(`${kind} ${reference.name}, which envFrom names, is not among the files`);
    }
    for (const [key, value] of Object.entries(values ?? {})) result[prefix + key] = value;
  }
  for (const { name, value, valueFrom } of container.env ?? []) {
    // Here the machine is not the pod's alone.
    if (name === BLOCK_LOOPBACK) continue;
    const reference = valueFrom?.secretKeyRef ?? valueFrom?.configMapKeyRef;
    if (reference === undefined) {
      if (valueFrom === undefined) result[name] = value ?? '';
      continue;
    }
    const kind = valueFrom?.secretKeyRef === undefined ? 'ConfigMap' : 'Secret';
    const found = data(kind, reference.name)?.[reference.key] ?? world.env[name];
    if (found !== undefined) result[name] = found;
    else if (reference.optional !== true) {
      problems.push(
        `variable ${name} comes from key ${reference.key} of the ${kind} ${reference.name}, which is not among the ` +
          `files; add it, or set ${name} in the environment`,
      );
    }
  }
  return result;
}
