import { createHmac, hkdfSync } from 'node:crypto';

import { LRUCache } from 'lru-cache';

const KEY_BYTES = 32;

interface Keys {
  /** The secret that they are derived from. */
  readonly of: string;
  readonly principal: Buffer;
  readonly arguments: Buffer;
}

/**
 * Hashes that tell things apart without telling what they are. They are keyed, or short tokens and arguments could be
 * guessed from what is stored and logged. With the secret of the state store, all replicas make the same ones.
 */
export class KeyedHashes {
  readonly #secret: { readonly value: string };
  #keys: Keys | undefined;
  readonly #principals = new LRUCache<string, string>({ max: 1000 });

  /** `value` throws StoreUnavailable while the store has not given it. */
  constructor(secret: { readonly value: string }) {
    this.#secret = secret;
  }

  /** Whose sessions and files are, without keeping what tells them apart (`Identity.key`): that may be a token. */
  principal(key: string): string {
    const keys = this.#read();
    const known = this.#principals.get(key);
    if (known !== undefined) return known;
    const principal = createHmac('sha256', keys.principal).update(key).digest('base64url');
    this.#principals.set(key, principal);
    return principal;
  }

  /** The arguments of a call, as their JSON text came. */
  arguments(text: string): string {
    return createHmac('sha256', this.#read().arguments).update(text).digest('hex');
  }

  #read(): Keys {
    const { value } = this.#secret;
    const keys = this.#keys;
    if (keys?.of === value) return keys;
    this.#principals.clear();
    return (this.#keys = { of: value, principal: derived(value, 'principal'), arguments: derived(value, 'arguments') });
  }
}

const derived = (secret: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', `hash of ${purpose}`, KEY_BYTES));
