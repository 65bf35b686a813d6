import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Problem } from '../../crds/config/load/problem.ts';
import type { Path } from '../../lib/json/tree.ts';
import { type Position, readYaml } from '../../crds/config/load/yaml-source.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';

/** One resource of a file. */
export interface Manifest {
  readonly file: string;
  /** The line on which its document begins, from 1. */
  readonly line: number;
  readonly object: KubernetesObject;
  /** Where a field of it stands in the file. */
  locate(path: Path): Position | undefined;
}

/** A problem with the file that it was found in. */
export interface FileProblem extends Problem {
  readonly file: string;
}

export interface Manifests {
  readonly manifests: readonly Manifest[];
  readonly problems: readonly FileProblem[];
}

const EXTENSIONS = /\.(ya?ml|json)$/;

/**
 * Reads files, and the files of folders (not of their subfolders) whose names end in .yaml, .yml or .json, in the order
 * of their names. What cannot be read is a problem, never an exception.
 */
export async function readManifests(paths: readonly string[], namespace: string): Promise<Manifests> {
  const read: Manifests[] = [];
  for (const path of paths) {
    for (const file of await filesAt(path)) {
      read.push(
        typeof file === 'string'
          ? await readFile(file, 'utf8').then(
              (text) => parseManifests(text, file, namespace),
              (error: unknown) => unreadable(file, error),
            )
          : file,
      );
    }
  }
  const manifests = read.flatMap((one) => one.manifests);
  return { manifests, problems: [...read.flatMap((one) => one.problems), ...twice(manifests)] };
}

async function filesAt(path: string): Promise<(string | Manifests)[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = (await readdir(path)).filter((name) => EXTENSIONS.test(name)).sort();
    return names.map((name) => join(path, name));
  } catch (error) {
    return [unreadable(path, error)];
  }
}

const unreadable = (file: string, error: unknown): Manifests => ({
  manifests: [],
  problems: [{ file, path: '', message: `cannot be read: ${error instanceof Error ? error.message : String(error)}` }],
});

/** The resources of a YAML text of one or more documents, or of `kind: List`. */
export function parseManifests(text: string, file: string, namespace: string): Manifests {
  const manifests: Manifest[] = [];
  const problems: FileProblem[] = [];
  for (const { document, line } of documents(text)) {
    const source = readYaml(document);
    const at = (position: Position | undefined): Position | undefined =>
      position === undefined ? undefined : { ...position, line: position.line + line - 1 };
    for (const problem of source.problems) problems.push({ ...problem, file, line: (problem.line ?? 1) + line - 1 });
    if (source.value === undefined || isEmpty(source.value)) continue;
    const add = (value: unknown, above: Path): void => {
      const problem = shapeProblem(value);
      const locate = (path: Path): Position | undefined => at(source.locate([...above, ...path]));
      if (problem !== undefined) problems.push({ file, path: '', message: problem, ...(locate([]) ?? { line }) });
      else manifests.push({ file, line, object: inNamespace(value as KubernetesObject, namespace), locate });
    };
    const items = listItems(source.value);
    if (items === undefined) add(source.value, []);
    else items.forEach((item, index) => add(item, ['items', index]));
  }
  return { manifests, problems };
}

/** A line that begins with `---` always separates documents: YAML allows it nowhere else. */
function documents(text: string): { document: string; line: number }[] {
  const found: { document: string; line: number }[] = [];
  let lines: string[] = [];
  let first = 1;
  const end = (next: number): void => {
    const document = lines.join('\n');
    if (document.trim() !== '') found.push({ document, line: first });
    lines = [];
    first = next;
  };
  text.split(/\r?\n/).forEach((line, index) => {
    if (!/^---(\s|$)/.test(line)) lines.push(line);
    else {
      end(index + 1);
      // What stands behind the dashes belongs to the next document; the columns stay as they are.
      lines.push(`   ${line.slice(3)}`);
    }
  });
  end(0);
  return found;
}

const isEmpty = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.keys(value).length === 0);

function listItems(value: unknown): readonly unknown[] | undefined {
  if (typeof value !== 'object' || value === null || !('kind' in value) || !('items' in value)) return undefined;
  return value.kind === 'List' && Array.isArray(value.items) ? value.items : undefined;
}

function shapeProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'is no Kubernetes resource';
  const { apiVersion, kind, metadata } = value as Record<string, unknown>;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') {
    return 'is no Kubernetes resource: it needs apiVersion and kind';
  }
  const name = typeof metadata === 'object' && metadata !== null && 'name' in metadata ? metadata.name : undefined;
  return typeof name === 'string' && name !== '' ? undefined : `is a ${kind} without metadata.name`;
}

function inNamespace(object: KubernetesObject, namespace: string): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, namespace: object.metadata.namespace ?? namespace } };
}

function twice(manifests: readonly Manifest[]): FileProblem[] {
  const first = new Map<string, Manifest>();
  return manifests.flatMap((manifest) => {
    const { kind, metadata, apiVersion } = manifest.object;
    const key = `${apiVersion}/${kind} ${metadata.namespace}/${metadata.name}`;
    const earlier = first.get(key);
    if (earlier === undefined) {
      first.set(key, manifest);
      return [];
    }
    const message = `${kind} ${metadata.name} stands already in ${earlier.file}:${earlier.line}; remove one of the two`;
    return [{ file: manifest.file, path: '', message, line: manifest.line }];
  });
}
