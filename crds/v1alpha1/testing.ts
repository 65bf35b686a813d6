import { readFileSync, readdirSync } from 'node:fs';
import { isObject } from '../../lib/json/json-object.ts';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { checkAdapterConfig } from '../config/load/load.ts';
import { dottedPath } from '../config/load/problem.ts';
import { interpolateAll } from '../../lib/references/reference.ts';
import { readYaml } from '../config/load/yaml-source.ts';
import { API_VERSION } from './api.ts';
import { ApiScrapeSourceSpec } from './api-scrape-source.ts';
import { McpAdapterSpec } from './mcp-adapter.ts';

/** Resources of `crds/testdata/`, for tests of everything that judges them. */

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [key: string]: unknown };
  readonly spec: Readonly<Record<string, unknown>>;
}

export interface Refused {
  readonly wrong: string;
  /** The API server, or the schemas of the programs where the API server cannot. */
  readonly by: 'api' | 'program';
  /** Path that the message names. */
  readonly field: string;
  /** More that the message says. */
  readonly says?: string;
  readonly resource: Manifest;
}

const text = (name: string): string => readFileSync(new URL(`../testdata/${name}`, import.meta.url), 'utf8');

/** As kubectl reads them: YAML 1.1, with its booleans. */
const documents = (name: string): Manifest[] =>
  parseAllDocuments(text(name), { version: '1.1' }).map((document) => document.toJS() as Manifest);

/** Configuration files as users of the original have them, each as a resource. Their text is YAML 1.2. */
const ORIGINALS = ['local-dev', 'disk-playwright', 'redis-ha', 'passthrough'].map((name): Manifest => ({
  apiVersion: API_VERSION,
  kind: 'McpAdapter',
  metadata: { name: `original-${name}` },
  spec: { envFrom: [{ secretRef: { name: 'variables' } }], config: readYaml(text(`${name}.yaml`)).value },
}));

const EXAMPLES = new URL('../../examples/', import.meta.url);

/** The resources of `examples/`, wherever they stand there. */
const examples = (): Manifest[] =>
  readdirSync(EXAMPLES, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.ya?ml$/.test(path))
    .flatMap((path) => parseAllDocuments(readFileSync(new URL(path, EXAMPLES), 'utf8'), { version: '1.1' }))
    .map((document) => document.toJS() as Manifest | null)
    .filter((one): one is Manifest => one?.apiVersion === API_VERSION)
    .map(({ metadata, ...rest }) => {
      const { namespace, ...others } = metadata;
      return namespace === undefined ? { ...rest, metadata } : { ...rest, metadata: others };
    });

export const validResources = (): Manifest[] => [
  ...documents('mcp-adapter.valid.yaml'),
  ...ORIGINALS,
  ...documents('api-scrape-source.valid.yaml'),
  ...examples(),
];

const smallest = (kind: string): Manifest =>
  validResources().find((one) => one.kind === kind && one.metadata.name === 'smallest') as Manifest;

export function invalidResources(): Refused[] {
  return [...refused('mcp-adapter', 'McpAdapter'), ...refused('api-scrape-source', 'ApiScrapeSource')];
}

function refused(file: string, kind: string): Refused[] {
  const cases = parse(text(`${file}.invalid.yaml`), { version: '1.1' }) as {
    wrong: string;
    by: 'api' | 'program';
    field: string;
    says?: string;
    keepNull?: true;
    change: unknown;
  }[];
  return cases.map(({ change, keepNull = false, ...one }, index) => {
    const named = overlay({ ...smallest(kind), metadata: { name: `case-${index}` } }, change, keepNull);
    return { ...one, resource: named as Manifest };
  });
}

function overlay(base: unknown, change: unknown, keepNull: boolean): unknown {
  if (!isObject(base) || !isObject(change)) return change;
  const merged = { ...base };
  for (const [key, value] of Object.entries(change)) {
    if (value === null && !keepNull) delete merged[key];
    else merged[key] = overlay(merged[key] ?? {}, value, keepNull);
  }
  return merged;
}

/** Paths that the programs' schemas complain about, without those that only a running program can judge. */
export function programProblems({ kind, spec }: Manifest): string[] {
  return kind === 'McpAdapter'
    ? [
        ...problemsOf(McpAdapterSpec.extend({ config: z.unknown() }), spec),
        ...checkAdapterConfig(spec['config']).map(({ path }) => path),
      ]
    : problemsOf(ApiScrapeSourceSpec, spec).map((path) => path.replace(/^source\./, ''));
}

function problemsOf(schema: z.ZodType, document: unknown): string[] {
  const open = new Set(interpolateAll(document, {}).found.map(({ path }) => dottedPath(path)));
  const issues = schema.safeParse(document).error?.issues ?? [];
  return issues
    .flatMap(({ path, ...issue }) => {
      const at = path.filter((key) => typeof key !== 'symbol');
      return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => dottedPath([...at, key])) : [dottedPath(at)];
    })
    .filter((path) => !open.has(path));
}
