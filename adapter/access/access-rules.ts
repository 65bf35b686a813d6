import { LRUCache } from 'lru-cache';

import type { AccessConfig } from '../../crds/config/adapter-file/access.ts';
import type { Identity } from '../identity/identity.ts';
import { Access, type Candidate } from './access.ts';
import { CompiledRule } from './compiled-rule.ts';

/** Of tokens there may be any number; the rules that concern them make few combinations. */
const MAX_KNOWN = 200;

/** The rules of one server. */
export class AccessRules {
  /** All that an `allow` asks for, each once. */
  readonly scopes: readonly string[];
  readonly #rules: readonly CompiledRule[];
  readonly #default: AccessConfig['default'];
  readonly #known = new LRUCache<string, Access>({ max: MAX_KNOWN });
  readonly #ofIdentity = new WeakMap<Identity, Access>();

  constructor(config: AccessConfig) {
    this.#rules = config.rules.map((rule, index) => new CompiledRule(rule, index));
    this.#default = config.default;
    const allowing = this.#rules.filter(({ effect }) => effect === 'allow');
    this.scopes = [...new Set(allowing.flatMap(({ scopes }) => scopes ?? []))];
  }

  /** What a caller may do. An identity never changes. */
  of(identity: Identity): Access {
    let access = this.#ofIdentity.get(identity);
    if (access === undefined) this.#ofIdentity.set(identity, (access = this.#access(identity)));
    return access;
  }

  #access(identity: Identity): Access {
    const candidates: Candidate[] = [];
    for (const rule of this.#rules) {
      if (!rule.concerns(identity)) continue;
      const lacks = rule.lacking(identity.scopes);
      // Nobody gets a token with another scope to be denied something, and a token of the configuration has none.
      if (lacks !== undefined && (rule.effect === 'deny' || !identity.hasScopes)) continue;
      candidates.push({ rule, lacks });
    }
    const key = candidates.map(({ rule, lacks }) => `${rule.index}${lacks === undefined ? '' : '-'}`).join(',');
    let access = this.#known.get(key);
    if (access === undefined) this.#known.set(key, (access = new Access(key, candidates, this.#default)));
    return access;
  }
}
