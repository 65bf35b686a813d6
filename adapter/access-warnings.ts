import type { Core } from '../crds/config/adapter-file/core.ts';
import { isLoopback } from './http/host-names.ts';

/** Shorter secrets can be guessed; with letters and digits, 16 characters are more than 80 bits. */
const MIN_SECRET_CHARS = 16;

/** What is weak about who may come in. The code is for everybody to read and says nothing that helps. */
export interface AccessWarning {
  readonly code: 'open_to_all' | 'weak_credentials';
  readonly message: string;
}

/** @param boundHost the address that the port is bound to */
export function accessWarnings({ auth }: Pick<Core, 'auth'>, boundHost: string): AccessWarning[] {
  if (!auth.enabled) {
    const message =
      'core.auth.enabled is false and others than this machine can connect: whoever reaches the port may use every server. ' +
      'Set core.auth with a token, or core.host to 127.0.0.1.';
    return isLoopback(boundHost) ? [] : [{ code: 'open_to_all', message }];
  }
  const short = (['token', 'signing_secret'] as const).filter(
    (name) => (auth[name]?.length ?? Infinity) < MIN_SECRET_CHARS,
  );
  return short.map((name) => ({
    code: 'weak_credentials',
    message: `core.auth.${name} has fewer than ${MIN_SECRET_CHARS} characters and can be guessed; openssl rand -hex 32 makes a good one.`,
  }));
}
