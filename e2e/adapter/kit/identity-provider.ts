import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair } from 'jose';
import { type Configuration, Provider, type ResourceServer } from 'oidc-provider';
import { freePort } from '../../support/ports.ts';
import { secret } from '../../support/secrets/secret.ts';

export const AUDIENCE = 'mcp';
export const MACHINE = { clientId: 'worker', clientSecret: secret('client of the identity provider') };
export const PERSON = { clientId: 'inspector', redirectUri: 'http://127.0.0.1:1/callback' };

export interface IdentityProvider extends AsyncDisposable {
  readonly issuer: string;
  /** Follows the browser of a person from the authorization endpoint back to the client, and what it brings there. */
  signIn(authorizationUrl: URL, person: string): Promise<URLSearchParams>;
  /** Stops answering, and answers again. */
  away(): void;
  back(): void;
}

/** `oidc-provider` on loopback: a client that is a machine and one for people, who sign in without a password. */
export async function startIdentityProvider(): Promise<IdentityProvider> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const resourceServer: ResourceServer = {
    scope: 'files tools admin',
    audience: AUDIENCE,
    accessTokenFormat: 'jwt',
    accessTokenTTL: 60,
    jwt: { sign: { alg: 'ES256' } },
  };
  const configuration: Configuration = {
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'first', alg: 'ES256', use: 'sig' }] },
    clients: [
      {
        client_id: MACHINE.clientId,
        id_token_signed_response_alg: 'ES256',
        client_secret: MACHINE.clientSecret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
      {
        client_id: PERSON.clientId,
        id_token_signed_response_alg: 'ES256',
        token_endpoint_auth_method: 'none',
        redirect_uris: [PERSON.redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        application_type: 'native',
      },
    ],
    scopes: ['openid', 'offline_access', 'files', 'tools', 'admin'],
    cookies: { keys: [secret('cookies of the identity provider')] },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'https://nobody.example',
        useGrantedResource: () => true,
        getResourceServerInfo: () => resourceServer,
      },
    },
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  };
  const provider = new Provider(issuer, configuration);
  const serve = provider.callback();
  let isAway = false;

  /** What a person would click: who it is, and that the client may do all it asks for. */
  async function interact(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { params, prompt, session } = await provider.interactionDetails(req, res);
    if (prompt.name === 'login') {
      return provider.interactionFinished(req, res, { login: { accountId: String(params['login_hint']) } });
    }
    const grant = new provider.Grant({ accountId: session?.accountId ?? '', clientId: String(params['client_id']) });
    const scope = String(params['scope']);
    grant.addOIDCScope(`openid offline_access ${scope}`);
    grant.addResourceScope(String(params['resource']), scope);
    await provider.interactionFinished(req, res, { consent: { grantId: await grant.save() } });
  }

  const server = createServer((req, res) => {
    const path = req.url ?? '/';
    if (isAway) res.writeHead(503).end();
    else if (path.startsWith('/interaction/')) void interact(req, res);
    else void serve(req, res);
  });
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));

  return {
    issuer,
    async signIn(authorizationUrl, person) {
      const cookies = new Map<string, string>();
      let url = new URL(authorizationUrl);
      url.searchParams.set('login_hint', person);
      for (let hop = 0; hop < 10; hop += 1) {
        const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
        // oxlint-disable-next-line no-await-in-loop -- each leads to the next
        const answer = await fetch(url, { redirect: 'manual', headers: { cookie } });
        for (const set of answer.headers.getSetCookie()) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
          cookies.set(name, value);
        }
        const location = answer.headers.get('location');
        // oxlint-disable-next-line no-await-in-loop -- only where it goes no further
        if (location === null) throw new Error(`no way on from ${url.href}: ${await answer.text()}`);
        url = new URL(location, url);
        if (!url.href.startsWith(PERSON.redirectUri)) continue;
        return url.searchParams;
      }
      throw new Error('too many redirects');
    },
    away() {
      isAway = true;
    },
    back() {
      isAway = false;
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}
