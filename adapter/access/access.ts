import { LRUCache } from 'lru-cache';

import type { CompiledRule } from './compiled-rule.ts';
import { uriAliases, uriReadings } from './uri-readings.ts';
import type { Wish } from './wishes.ts';

const MAX_KNOWN = 500;
const MAX_KNOWN_CHARS = 256;

export interface Decision {
  /** `scope`: it would be allowed to somebody with this scope, whom it shows that it is there. */
  readonly outcome: 'allowed' | 'denied' | 'scope';
  /** Which rule decided, counted from 0; undefined: the default, or nothing that rules are about. */
  readonly rule: number | undefined;
  /** With the outcome `scope`. */
  readonly scope?: string;
}

/** Who decided, for the log. */
export const reasonOf = ({ rule }: Decision): string =>
  rule === undefined ? 'access.default' : `access.rules[${rule}]`;

/** A rule that concerns a caller; with the scope that is all that the caller lacks for it. */
export interface Candidate {
  readonly rule: CompiledRule;
  readonly lacks: string | undefined;
}

/** Methods of the protocol that are about no object. Only rules which name them say anything about them. */
const PLAIN_METHODS: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'server/discover',
  'logging/setLevel',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'subscriptions/listen',
  'tasks/list',
  'tasks/get',
  'tasks/result',
  'tasks/update',
  'tasks/cancel',
]);

/**
 * What one caller may do at one server. Callers whom the same rules concern share it, and with it what is worked out for
 * them: lists, indexes of tools.
 */
export class Access {
  /** Tells it from others of the same server. */
  readonly key: string;
  readonly #candidates: readonly Candidate[];
  readonly #default: Decision;
  readonly #deniesResources: boolean;
  readonly #known = new LRUCache<string, Decision>({ max: MAX_KNOWN });

  constructor(key: string, candidates: readonly Candidate[], byDefault: 'allow' | 'deny') {
    this.key = key;
    this.#candidates = candidates;
    this.#deniesResources = candidates.some(({ rule }) => rule.effect === 'deny' && rule.namesResources);
    this.#default = { outcome: byDefault === 'allow' ? 'allowed' : 'denied', rule: undefined };
  }

  decide(wish: Wish): Decision {
    const key = keyOf(wish);
    // Clients make names up.
    if (key.length > MAX_KNOWN_CHARS) return this.#decided(wish);
    let known = this.#known.get(key);
    if (known === undefined) this.#known.set(key, (known = this.#decided(wish)));
    return known;
  }

  allows(wish: Wish): boolean {
    return this.decide(wish).outcome === 'allowed';
  }

  /** Whether it shows that a thing is there: it may be used, or could with another scope. */
  shows(wish: Wish): boolean {
    return this.decide(wish).outcome !== 'denied';
  }

  #decided(wish: Wish): Decision {
    const { resource } = wish;
    if (resource === undefined) return this.#first(wish);
    const asRead = (one: string): Decision => this.#first({ ...wish, resource: one }, one !== resource);
    // Servers differ in how they read a URI. What one reading is not allowed, none is.
    const decisions = uriReadings(resource).map(asRead);
    const by = (outcome: Decision['outcome']): Decision | undefined => decisions.find((one) => one.outcome === outcome);
    const decision = by('denied') ?? by('scope') ?? by('allowed') ?? this.#default;
    if (decision.outcome === 'denied' || !this.#deniesResources) return decision;
    // A rule that denies a thing is not passed by with another name for it, but where an earlier one allows that name.
    const stricter = uriAliases(resource)
      .map(asRead)
      .filter((one) => one.outcome !== 'allowed' && isEarlier(one, decision));
    return stricter.find(({ outcome }) => outcome === 'denied') ?? stricter[0] ?? decision;
  }

  #first(wish: Wish, isReading = false): Decision {
    const isPlain = PLAIN_METHODS.has(wish.method);
    let step: Decision | undefined;
    for (const { rule, lacks } of this.#candidates) {
      if (!rule.matches(wish, isPlain, isReading)) continue;
      const { index, effect } = rule;
      if (lacks !== undefined) step ??= { outcome: 'scope', rule: index, scope: lacks };
      else
        return effect === 'allow' ? { outcome: 'allowed', rule: index } : (step ?? { outcome: 'denied', rule: index });
    }
    if (isPlain) return step ?? { outcome: 'allowed', rule: undefined };
    return this.#default.outcome === 'denied' ? (step ?? this.#default) : this.#default;
  }
}

const isEarlier = ({ rule }: Decision, other: Decision): boolean =>
  rule !== undefined && (other.rule === undefined || rule < other.rule);

/** What is about an object has one of our methods. */
function keyOf({ method, tool, prompt, resource }: Wish): string {
  if (tool !== undefined) return `t${tool}`;
  if (prompt !== undefined) return `p${prompt}`;
  return resource === undefined ? `m${method}` : `${method === 'files/download' ? 'd' : 'r'}${resource}`;
}
