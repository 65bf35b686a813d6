import type { AccessRule } from '../../crds/config/adapter-file/access.ts';
import type { Identity } from '../identity/identity.ts';
import { glob } from './glob.ts';
import { uriReadings } from './uri-readings.ts';
import type { Wish } from './wishes.ts';

type Matches = (text: string) => boolean;

/** One rule of `access.rules`, compiled. */
export class CompiledRule {
  readonly index: number;
  readonly effect: AccessRule['effect'];
  readonly scopes: readonly string[] | undefined;
  readonly #principals: Matches | undefined;
  readonly #claims: readonly (readonly [path: string, values: ReadonlySet<string>])[];
  readonly #methods: Matches | undefined;
  readonly #tools: Matches | undefined;
  readonly #resources: Matches | undefined;
  /** Also where its patterns are read as URIs are. */
  readonly #readResources: Matches | undefined;
  readonly #prompts: Matches | undefined;

  constructor(rule: AccessRule, index: number) {
    this.index = index;
    this.effect = rule.effect;
    this.scopes = rule.scopes ?? undefined;
    this.#principals = anyOf(rule.principals);
    this.#claims = Object.entries(rule.claims ?? {}).map(([path, values]) => [path, new Set(values)]);
    this.#methods = anyOf(rule.methods);
    this.#tools = anyOf(rule.tools);
    this.#resources = anyOf(rule.resources);
    this.#readResources = anyOf(rule.resources?.flatMap(patternReadings) ?? null);
    this.#prompts = anyOf(rule.prompts);
  }

  get namesResources(): boolean {
    return this.#resources !== undefined;
  }

  /** Whether it concerns a caller, whatever its scopes. */
  concerns({ name, claims }: Pick<Identity, 'name' | 'claims'>): boolean {
    if (this.#principals?.(name) === false) return false;
    return this.#claims.every(([path, values]) => claimed(claims, path).some((value) => values.has(value)));
  }

  /** The scope that would do, where a caller has none of those that the rule wants. */
  lacking(scopes: ReadonlySet<string>): string | undefined {
    return this.scopes === undefined || this.scopes.some((scope) => scopes.has(scope)) ? undefined : this.scopes[0];
  }

  /**
   * @param isPlain the method is about no object, and the rule must name it
   * @param isReading the resource is not as it was asked for, but as it may be read; what is to be allowed must fit both as
   *   it was asked for and as it was written, or `doc://Public` would allow `doc://public` too
   */
  matches({ method, tool, resource, prompt }: Wish, isPlain: boolean, isReading: boolean): boolean {
    if (this.#methods === undefined ? isPlain : !this.#methods(method)) return false;
    const resources = isReading || this.effect === 'deny' ? this.#readResources : this.#resources;
    return fits(this.#tools, tool) && fits(resources, resource) && fits(this.#prompts, prompt);
  }
}

/** An encoded star must not become one that stands for anything. */
const patternReadings = (pattern: string): readonly string[] =>
  /%2a/i.test(pattern) ? [pattern] : uriReadings(pattern);

function fits(wanted: Matches | undefined, given: string | undefined): boolean {
  return wanted === undefined || (given !== undefined && wanted(given));
}

function anyOf(patterns: readonly string[] | null): Matches | undefined {
  if (patterns === null) return undefined;
  const globs = patterns.map(glob);
  return (text) => globs.some((matches) => matches(text));
}

/**
 * What a token says under a path: a claim of that name, or names parted by dots that lead into objects. Of a list, each
 * entry; numbers and booleans as their JSON text.
 */
function claimed(claims: Readonly<Record<string, unknown>>, path: string): readonly string[] {
  const value = Object.hasOwn(claims, path) ? claims[path] : path.split('.').reduce<unknown>(member, claims);
  return (Array.isArray(value) ? value : [value]).flatMap((one: unknown) =>
    typeof one === 'string' || typeof one === 'number' || typeof one === 'boolean' ? String(one) : [],
  );
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}
