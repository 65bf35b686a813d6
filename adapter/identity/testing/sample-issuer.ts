import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT, type CryptoKey } from 'jose';

import { IssuerUnavailable } from '../issuer-client.ts';

export const ISSUER = 'https://id.example.com/realms/mcp';
export const AUDIENCE = 'https://mcp.example.com/mcp/search';

export interface SampleKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

export async function sampleKey(kid: string, alg = 'ES256'): Promise<SampleKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

/** An authorization server that answers at once, or is away. */
export class SampleIssuer {
  keys: readonly SampleKey[];
  isAway = false;
  /** Claims that change what is said of itself. */
  metadata: Record<string, unknown> = {};
  /** URLs that were asked for. */
  readonly asked: string[] = [];
  /** What introspection says of which token. */
  readonly tokens = new Map<string, Record<string, unknown>>();

  constructor(...keys: SampleKey[]) {
    this.keys = keys;
  }

  async get(url: string): Promise<Record<string, unknown> | undefined> {
    this.asked.push(url);
    if (this.isAway) throw new IssuerUnavailable('it is away');
    if (url === `${ISSUER}/keys`) return { keys: this.keys.map(({ jwk }) => jwk) };
    if (url !== `${ISSUER}/.well-known/openid-configuration`) return undefined;
    return { issuer: ISSUER, jwks_uri: `${ISSUER}/keys`, ...this.metadata };
  }

  async post(url: string, form: Readonly<Record<string, string>>): Promise<Record<string, unknown> | undefined> {
    this.asked.push(url);
    if (this.isAway) throw new IssuerUnavailable('it is away');
    return this.tokens.get(form['token'] ?? '') ?? { active: false };
  }

  /** How often the keys were read. */
  get reads(): number {
    return this.asked.filter((url) => url.endsWith('/keys')).length;
  }
}

const now = (): number => Math.floor(Date.now() / 1000);

/** Claims of a token of anna, good for a minute. Undefined leaves one out. */
export function claims(changes: Record<string, unknown> = {}): JWTPayload {
  const all = {
    iss: ISSUER,
    aud: AUDIENCE,
    sub: 'anna',
    iat: now(),
    exp: now() + 60,
    scope: 'files tools',
    ...changes,
  };
  return JSON.parse(JSON.stringify(all)) as JWTPayload;
}

export async function signed(
  key: SampleKey,
  changes: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): Promise<string> {
  const all = { alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header };
  return new SignJWT(claims(changes)).setProtectedHeader(all).sign(key.privateKey);
}
