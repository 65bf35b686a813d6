import type { Core } from '../../crds/config/adapter-file/core.ts';
import { isLoopback } from '../http/host-names.ts';

/** Shorter secrets can be guessed; with letters and digits, 16 characters are more than 80 bits. */
const MIN_SECRET_CHARS = 16;

type WithIssuer = { readonly oauth: { readonly issuer: string } | null };
type Auth = Pick<Core['auth'], 'enabled' | 'token' | 'tokens' | 'signing_secret'> & WithIssuer;

export interface AccessSettings {
  readonly core: { readonly auth: Auth };
  readonly servers: readonly { readonly id: string; readonly auth: WithIssuer }[];
}

/** What is weak about who may come in. The code is for everybody to read and says nothing that helps. */
export interface AccessWarning {
  readonly code: 'open_to_all' | 'weak_credentials';
  readonly message: string;
}

const isOpen = ({ oauth }: WithIssuer): boolean => {
  const url = URL.parse(oauth?.issuer ?? '');
  return url?.protocol === 'http:' && !isLoopback(url.hostname);
};

/** @param boundHost the address that the port is bound to */
export function accessWarnings({ core: { auth }, servers }: AccessSettings, boundHost: string): AccessWarning[] {
  if (!auth.enabled) {
    const message =
      'core.auth.enabled is false and others than this machine can connect: whoever reaches the port may use every server. ' +
      'Set core.auth with a token, or core.host to 127.0.0.1.';
    return isLoopback(boundHost) ? [] : [{ code: 'open_to_all', message }];
  }
  const short = (['token', 'signing_secret'] as const).filter(
    (name) => (auth[name]?.length ?? Infinity) < MIN_SECRET_CHARS,
  );
  const weak = auth.tokens.filter(({ token }) => token.length < MIN_SECRET_CHARS).map(({ name }) => `tokens (${name})`);
  const guessable = [...short, ...weak].map(
    (name) =>
      `core.auth.${name} has fewer than ${MIN_SECRET_CHARS} characters and can be guessed; openssl rand -hex 32 makes a good one.`,
  );
  const open = [
    ...(isOpen(auth) ? ['core.auth.oauth'] : []),
    ...servers.filter((server) => isOpen(server.auth)).map(({ id }) => `servers.${id}.auth.oauth`),
  ].map((field) => `${field} has an issuer without TLS: whoever is on the way to it can make tokens. Use https.`);
  return [...guessable, ...open].map((message) => ({ code: 'weak_credentials', message }));
}
