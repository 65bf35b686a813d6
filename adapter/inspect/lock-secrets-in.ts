import type { AdapterConfig } from '../../crds/config/adapter-file/adapter.ts';
import { knownSecretsOut } from '../../crds/config/adapter-file/redact-config.ts';
import type { Environment } from '../../lib/references/reference.ts';
import type { LockSecrets } from '../lock/lock-secrets.ts';

/** As in logs. */
const MIN_HIDDEN = 4;
/** A name may hold a shorter one by chance, and then its tool could not be locked. */
const MIN_IN_NAMES = 8;

/** The secrets of a configuration, for who compares or makes a lock. */
export function lockSecretsIn(config: AdapterConfig, env: Environment): LockSecrets {
  const without = knownSecretsOut(config, env, MIN_IN_NAMES);
  return { hide: knownSecretsOut(config, env, MIN_HIDDEN), areIn: (name) => without(name) !== name };
}
