import type { Rule, Violation } from '../../load/rules.ts';
import type { Path } from '../../../../lib/json/tree.ts';
import { at, isText, list } from './reading.ts';

const isOAuth = (value: unknown): boolean => typeof value === 'object' && value !== null;

const everyServerHasOAuth = (config: unknown): boolean => {
  const servers = list(config, 'servers');
  const ofCore = isOAuth(at(config, 'core', 'auth', 'oauth'));
  return ofCore || (servers.length > 0 && servers.every((server) => isOAuth(at(server, 'auth', 'oauth'))));
};

/** The authorization server that each server has, with its path in the file. */
const oauths = (config: unknown): { readonly oauth: unknown; readonly path: Path; readonly server: unknown }[] =>
  list(config, 'servers').flatMap((server, index) => {
    const own = at(server, 'auth', 'oauth');
    if (isOAuth(own)) return [{ oauth: own, path: ['servers', index, 'auth', 'oauth'], server }];
    const oauth = at(config, 'core', 'auth', 'oauth');
    return isOAuth(oauth) ? [{ oauth, path: ['core', 'auth', 'oauth'], server }] : [];
  });

const authNeedsCredentials: Rule = (config) => {
  if (at(config, 'core', 'auth', 'enabled') !== true) return [];
  const path = ['core', 'auth', 'token'];
  const token = at(config, ...path);
  const others = list(config, 'core', 'auth', 'tokens').length > 0 || everyServerHasOAuth(config);
  if ((typeof token === 'string' && token.trim() === '') || (token === null && !others)) {
    const message =
      'is required and must not be blank when core.auth.enabled is true and there are no tokens and no oauth';
    return [{ path, message }];
  }
  return unsendable(token, path);
};

function unsendable(token: unknown, path: Path): Violation[] {
  if (!isText(token) || (token === token.trim() && !/[^ -~]/.test(token))) return [];
  const message =
    'has white space around it, control characters in it or characters beyond ASCII, which not every client can send';
  return [{ path, message }];
}

const namedTokens: Rule = (config) => {
  const first = new Map<unknown, string>([['default', 'core.auth.token']]);
  const seen = new Map<unknown, string>([[at(config, 'core', 'auth', 'token'), 'core.auth.token']]);
  return list(config, 'core', 'auth', 'tokens').flatMap((one, index) => {
    const [name, token] = [at(one, 'name'), at(one, 'token')];
    const here = `core.auth.tokens[${index}]`;
    const path = ['core', 'auth', 'tokens', index];
    const [namesake, same] = [isText(name) ? first.get(name) : undefined, isText(token) ? seen.get(token) : undefined];
    first.set(name, here);
    seen.set(token, here);
    const tokenPath = [...path, 'token'];
    return [
      ...(namesake === undefined ? [] : [{ path: [...path, 'name'], message: `is also the name of ${namesake}` }]),
      ...(same === undefined ? [] : [{ path: tokenPath, message: `is the same as ${same}` }]),
      ...(typeof token === 'string' && token.trim() === '' ? [{ path: tokenPath, message: 'must not be blank' }] : []),
      ...unsendable(token, tokenPath),
    ];
  });
};

const audiencesNeedUrl: Rule = (config) => {
  if (at(config, 'core', 'public_base_url') !== null) return [];
  const paths = new Map(
    oauths(config)
      .filter(({ oauth }) => list(oauth, 'audiences').length === 0 && Array.isArray(at(oauth, 'audiences')))
      .map(({ path }) => [path.join('.'), path]),
  );
  const message = 'must not be empty while core.public_base_url is null: nothing says what tokens are meant for';
  return [...paths.values()].map((path) => ({ path: [...path, 'audiences'], message }));
};

/** Where a server's `passthrough` lists the credentials of clients; -1: nowhere. */
const passedCredentials = (server: unknown): number =>
  list(server, 'upstream', 'client_headers', 'passthrough').findIndex(
    (name) => isText(name) && name.trim().toLowerCase() === 'authorization',
  );

const tokensStayHere: Rule = (config) =>
  oauths(config).flatMap(({ server, path }) => {
    if (passedCredentials(server) === -1) return [];
    const message = `must not be set for ${String(at(server, 'id'))}, whose client_headers.passthrough lists Authorization: a token that is meant for the adapter is not sent on`;
    return [{ path, message }];
  });

/** Every entry of a list that `core` and servers have, with its path in the file. */
const ofCoreAndServers = (config: unknown, ...names: string[]): { readonly entry: unknown; readonly path: Path }[] =>
  [['core'] as Path, ...list(config, 'servers').map((_, index): Path => ['servers', index])].flatMap((owner) =>
    list(config, ...owner, ...names).map((entry, index) => ({ entry, path: [...owner, ...names, index] })),
  );

const accessRules = (config: unknown): { readonly rule: unknown; readonly path: Path }[] =>
  ofCoreAndServers(config, 'access', 'rules').map(({ entry, path }) => ({ rule: entry, path }));

const OBJECTS = ['tools', 'resources', 'prompts'] as const;

const OAUTH_MEMBERS = ['scopes', 'claims'] as const;

/** Nothing that is asked for is two of these at once. */
const oneKindOfObject: Rule = (config) =>
  accessRules(config).flatMap(({ rule, path }) => {
    const [first, second] = OBJECTS.filter((name) => list(rule, name).length > 0);
    if (second === undefined) return [];
    const message = `can never match together with ${first}; write one rule for each`;
    return [{ path: [...path, second], message }];
  });

const accessNeedsCallers: Rule = (config) => {
  if (at(config, 'core', 'auth', 'enabled') !== false) return [];
  return accessRules(config).flatMap(({ rule, path }) =>
    (['principals', ...OAUTH_MEMBERS] as const)
      .filter((name) => at(rule, name) !== null && at(rule, name) !== undefined)
      .map((name) => ({
        path: [...path, name],
        message: 'says nothing while core.auth.enabled is false: nobody is known',
      })),
  );
};

const limitsLimit: Rule = (config) =>
  ofCoreAndServers(config, 'limits').flatMap(({ entry, path }) =>
    at(entry, 'rate') === null && at(entry, 'concurrent') === null
      ? [{ path, message: 'limits nothing; write a rate, concurrent, or both' }]
      : [],
  );

const burstsHaveRates: Rule = (config) =>
  ofCoreAndServers(config, 'limits').flatMap(({ entry, path }) =>
    at(entry, 'rate') === null && typeof at(entry, 'burst') === 'number'
      ? [{ path: [...path, 'burst'], message: 'says nothing without a rate' }]
      : [],
  );

const credentialsNeedOrigins: Rule = (config) =>
  at(config, 'core', 'cors', 'allow_credentials') === true &&
  list(config, 'core', 'cors', 'allowed_origins').includes('*')
    ? [{ path: ['core', 'cors', 'allow_credentials'], message: 'must be false when core.cors.allowed_origins holds *' }]
    : [];

const credentialsAreUnsafe: Rule = (config) =>
  list(config, 'servers').flatMap((server, index) => {
    const position = passedCredentials(server);
    if (position === -1 || at(server, 'upstream', 'client_headers', 'unsafe') === true) return [];
    const path = ['servers', index, 'upstream', 'client_headers', 'passthrough', position];
    const message =
      'hands the credentials of clients to this upstream; if they are meant for it, write `unsafe: true` beside passthrough';
    return [{ path, message }];
  });

const sharingNeedsIdentity: Rule = (config) => {
  const path = ['artifacts', 'scope'];
  const tellsApart = list(config, 'core', 'auth', 'tokens').length > 0 || everyServerHasOAuth(config);
  if (at(config, ...path) !== 'principal' || (at(config, 'core', 'auth', 'enabled') === true && tellsApart)) return [];
  const message =
    'can be principal only with core.auth.enabled and core.auth.tokens or oauth: nothing else tells callers apart';
  return [{ path, message }];
};

const sessionsNeedCallers: Rule = (config) => {
  if (at(config, 'core', 'auth', 'enabled') !== false) return [];
  return list(config, 'servers').flatMap((server, index) => {
    if (at(server, 'upstream', 'bridge_sessions') !== 'per_caller') return [];
    const path = ['servers', index, 'upstream', 'bridge_sessions'];
    return [
      { path, message: 'needs core.auth.enabled: nobody is known without it; "shared" gives all callers the same' },
    ];
  });
};

/** Who may come in, and what they may do. */
export const ACCESS_RULES: readonly Rule[] = [
  authNeedsCredentials,
  namedTokens,
  audiencesNeedUrl,
  tokensStayHere,
  oneKindOfObject,
  accessNeedsCallers,
  limitsLimit,
  burstsHaveRates,
  credentialsNeedOrigins,
  credentialsAreUnsafe,
  sharingNeedsIdentity,
  sessionsNeedCallers,
];
