import { ConfigError, dottedPath, type Problem } from '../../crds/config/load/problem.ts';
import { schemaProblems } from '../../crds/config/load/schema-problems.ts';
import { readYaml, type YamlSource } from '../../crds/config/load/yaml-source.ts';
import { type Path, valueAt } from '../../lib/json/tree.ts';
import { canonical } from './canonical.ts';
import { LockDocument } from '../../crds/config/lock-file/lock-document.ts';

export interface ReadLock {
  readonly document: LockDocument;
  /** The object of Kubernetes around it, where it is the `spec` of one. */
  readonly manifest: Manifest | undefined;
  /** The line of the file, counted from 1, where this path of the document stands, or what is nearest above it. */
  readonly lineOf: (path: Path) => number | undefined;
}

export interface Manifest {
  readonly kind: typeof KIND;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly [member: string]: unknown;
}

const KIND = 'McpToolLock';
const KINDS = ['tools', 'prompts', 'resourceTemplates'];

/**
 * Reads a lock from YAML or JSON: the document, or a McpToolLock that has it as its `spec`, beside `adapterRef`.
 * @throws ConfigError with everything that is wrong with it
 */
export function readLock(text: string): ReadLock {
  const source = jsonSource(text) ?? readYaml(text);
  if (source.value === undefined) throw new ConfigError(source.problems);
  const manifest = isManifest(source.value) ? source.value : undefined;
  const at: Path = manifest === undefined ? [] : ['spec'];
  const document = manifest === undefined ? source.value : withoutReference(manifest);
  const parsed = LockDocument.safeParse(document);
  const invalid = parsed.success
    ? []
    : schemaProblems(parsed.error.issues, { schema: LockDocument, document, references: [] });
  const located = [...invalid.map(({ at: path, problem }) => ({ path, problem })), ...protoProblems(document)];
  const problems = [
    ...source.problems,
    ...located.map(({ path, problem }) => ({ ...problem, ...source.locate([...at, ...path]) })),
  ];
  if (problems.length > 0 || !parsed.success) throw new ConfigError(problems);
  return { document: parsed.data, manifest, lineOf: (path) => source.locate([...at, ...path])?.line };
}

/** Undefined for what is no JSON, or what parsers could read in two ways. Large locks are JSON, and YAML takes many times as long. */
function jsonSource(text: string): Pick<YamlSource, 'value' | 'problems' | 'locate'> | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if ('why' in canonical(text)) return undefined;
    let places: YamlSource | undefined;
    return { value, problems: [], locate: (path) => (places ??= readYaml(text)).locate(path) };
  } catch {
    return undefined;
  }
}

const isManifest = (value: unknown): value is Manifest =>
  valueAt(value, ['kind']) === KIND &&
  typeof valueAt(value, ['spec']) === 'object' &&
  valueAt(value, ['spec']) !== null;

function withoutReference({ spec }: Manifest): Record<string, unknown> {
  const { adapterRef: _adapterRef, ...document } = spec;
  return document;
}

/** The schema passes over such members: what stands there would seem to be locked. */
function protoProblems(document: unknown): { readonly path: Path; readonly problem: Problem }[] {
  const servers = valueAt(document, ['servers']);
  const ids = typeof servers === 'object' && servers !== null ? Object.keys(servers) : [];
  const maps: Path[] = [['servers'], ...ids.flatMap((id) => KINDS.map((kind) => ['servers', id, kind]))];
  return maps.flatMap((map) => {
    const path = [...map, '__proto__'];
    const value = valueAt(document, path);
    return value === undefined
      ? []
      : [{ path, problem: { path: dottedPath(path), message: 'is no name that a lock can hold' } }];
  });
}
