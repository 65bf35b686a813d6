import type { AdapterConfig } from '../../crds/config/adapter-file/adapter.ts';
import { KeyedHashes } from '../state/keyed-hashes.ts';
import { SharedSecret } from '../state/shared-secret.ts';
import type { StateStore } from '../state/state-store.ts';

export interface Secrets {
  /** Signs URLs. */
  readonly signing: SharedSecret;
  /** Of what all replicas hash alike. */
  readonly hashing: SharedSecret;
  readonly hashes: KeyedHashes;
  /** Whose the files are whose sessions are lost: there is nobody else to ask. */
  readonly ownPrincipal: () => string;
  /** Hash of the arguments of a call (JSON text); undefined while it cannot be made. */
  readonly ofArguments: (text: string) => string | undefined;
}

/**
 * What all replicas derive keys from. Never fails: what needs a secret says so.
 * @param isFallback the store is replaced by memory
 */
export async function openSecrets(
  { auth }: Pick<AdapterConfig['core'], 'auth'>,
  store: Pick<StateStore, 'secret'>,
  isFallback: () => boolean,
): Promise<Secrets> {
  const configured = auth.enabled ? (auth.signing_secret ?? auth.token) : null;
  const signing = new SharedSecret(configured, () => store.secret('signing'), isFallback);
  const hashing = new SharedSecret(null, () => store.secret('hashes'), isFallback);
  await Promise.all([signing.load(), hashing.load()]);
  const hashes = new KeyedHashes(hashing);
  return {
    signing,
    hashing,
    hashes,
    ownPrincipal: () => (auth.enabled && auth.token !== null ? hashes.principal(auth.token) : ''),
    ofArguments: (text) => {
      try {
        return hashes.arguments(text);
      } catch {
        return undefined;
      }
    },
  };
}
