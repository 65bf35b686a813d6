import { type Rule, type Violation, checkRules } from '../load/rules.ts';
import { needsFolder, PROFILE_NAMES, type ProfileName, writesFiles } from './profiles/profiles.ts';
import { type Path, valueAt } from '../../../lib/json/tree.ts';

/**
 * Rules of the adapter's file that concern more than one field (adapter specification, sections 2 and 7).
 * They run also when other fields are invalid, and say nothing about what they cannot judge.
 */

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

const roomForOneBody: Rule = (config) => {
  const path = ['core', 'max_body_bytes_in_flight'];
  const [all, one] = [at(config, ...path), at(config, 'core', 'max_request_body_bytes')];
  return typeof all === 'number' && typeof one === 'number' && all < one
    ? [{ path, message: `must not be less than core.max_request_body_bytes (${one})` }]
    : [];
};

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

const httpExportNeedsUrl: Rule = (config) => {
  if (at(config, 'telemetry', 'transport') !== 'http') return [];
  return [['endpoint'], ['logs_endpoint'], ['traces', 'endpoint']].flatMap((names) => {
    const path = ['telemetry', ...names];
    const endpoint = at(config, ...path);
    return typeof endpoint === 'string' && endpoint !== '' && !/^https?:\/\//i.test(endpoint)
      ? [{ path, message: 'must start with http:// or https:// when telemetry.transport is http' }]
      : [];
  });
};

const tracesNeedTelemetry: Rule = (config) =>
  at(config, 'telemetry', 'traces', 'enabled') === true && at(config, 'telemetry', 'enabled') === false
    ? [{ path: ['telemetry', 'traces', 'enabled'], message: 'can be true only when telemetry.enabled is true' }]
    : [];

const separatePorts: Rule = (config) => {
  const path = ['telemetry', 'prometheus', 'port'];
  const port = at(config, ...path);
  return at(config, 'telemetry', 'prometheus', 'enabled') === true && port === at(config, 'core', 'port')
    ? [{ path, message: `is also core.port (${String(port)}); the metrics have a port of their own` }]
    : [];
};

const redisNeedsHost: Rule = (config) =>
  at(config, 'state_persistence', 'type') === 'redis' && at(config, 'state_persistence', 'redis', 'host') === null
    ? [{ path: ['state_persistence', 'redis', 'host'], message: 'is required when state_persistence.type is redis' }]
    : [];

const redisLockNeedsRedis: Rule = (config) => {
  const type = at(config, 'state_persistence', 'type');
  return at(config, 'storage', 'lock_mode') === 'redis' && (type === 'memory' || type === 'disk')
    ? [
        {
          path: ['storage', 'lock_mode'],
          message: `can be redis only when state_persistence.type is redis, not ${type}`,
        },
      ]
    : [];
};

const configuredRootsNeedRoots: Rule = (config) => {
  const roots = at(config, 'storage', 'artifact_locator_allowed_roots');
  return at(config, 'storage', 'artifact_locator_policy') === 'allow_configured_roots' &&
    Array.isArray(roots) &&
    roots.length === 0
    ? [
        {
          path: ['storage', 'artifact_locator_allowed_roots'],
          message: 'must name at least one folder when storage.artifact_locator_policy is allow_configured_roots',
        },
      ]
    : [];
};

const legacyServerExists: Rule = (config) => {
  const path = ['state_persistence', 'reconciliation', 'legacy_server_id'];
  const id = at(config, ...path);
  const ids = list(config, 'servers').map((server) => at(server, 'id'));
  // With an invalid id among them, this one may be meant.
  if (typeof id !== 'string' || ids.length === 0 || ids.includes(id) || ids.some((one) => !isText(one))) return [];
  return [{ path, message: `is not the id of a configured server (${ids.join(', ')})` }];
};

const uniqueIds: Rule = (config) => {
  const first = new Map<string, number>();
  return list(config, 'servers').flatMap((server, index) => {
    const id = at(server, 'id');
    if (!isText(id)) return [];
    const earlier = first.get(id);
    if (earlier === undefined) first.set(id, index);
    return earlier === undefined
      ? []
      : [{ path: ['servers', index, 'id'], message: `is also the id of servers[${earlier}]; ids must be unique` }];
  });
};

/** Paths that the adapter serves itself. */
const OWN_PATHS = ['/healthz', '/livez', '/readyz'];

/** A path of the file or of the adapter. To all but mounts belongs what lies below them, too. */
interface Place {
  readonly path: string;
  readonly by: string;
  readonly isMount: boolean;
}

/** Every path belongs to one part of the adapter. */
const separatePaths: Rule = (config) => {
  const downloads = at(config, 'core', 'allow_artifacts_download') === true ? ['/artifacts'] : [];
  const taken: Place[] = [...downloads, ...OWN_PATHS].map((path) => ({
    path,
    by: `${path}, which the adapter serves itself`,
    isMount: false,
  }));
  const claim = (at: Path, path: unknown, name: string, isMount: boolean): Violation[] => {
    if (!isText(path) || !path.startsWith('/')) return [];
    const place: Place = { path, by: `${name} (${path})`, isMount };
    const other = taken.find((one) => collide(one, place));
    taken.push(place);
    if (other === undefined) return [];
    const problem = other.path === path ? 'is the same as' : 'lies below or above';
    return [{ path: at, message: `${problem} ${other.by}; every path must belong to one part of the adapter` }];
  };
  return [
    ...claim(['core', 'upload_path'], at(config, 'core', 'upload_path'), 'core.upload_path', false),
    ...list(config, 'servers').flatMap((server, index) =>
      claim(['servers', index, 'mount_path'], at(server, 'mount_path'), `servers[${index}].mount_path`, true),
    ),
  ];
};

function collide(a: Place, b: Place): boolean {
  if (a.path === b.path) return true;
  return !(a.isMount && b.isMount) && (a.path.startsWith(`${b.path}/`) || b.path.startsWith(`${a.path}/`));
}

const handlesMatchUploads: Rule = (config) => {
  const expected = at(config, 'uploads', 'uri_scheme');
  return consumers(config).flatMap(({ entry, path }) => {
    const scheme = at(entry, 'uri_scheme');
    return isText(expected) && isText(scheme) && scheme !== expected
      ? [{ path: [...path, 'uri_scheme'], message: `must be the same as uploads.uri_scheme, which is ${expected}` }]
      : [];
  });
};

const onePassing: Rule = (config) =>
  consumers(config).flatMap(({ entry, path }) => {
    const [prefix, form] = [at(entry, 'uri_prefix'), at(entry, 'pass_as')];
    const contradicts =
      (prefix === true && (form === 'path' || form === 'url')) || (prefix === false && form === 'file_uri');
    return contradicts
      ? [
          {
            path: [...path, 'pass_as'],
            message: `is ${form}, which contradicts uri_prefix ${prefix}; remove one of them`,
          },
        ]
      : [];
  });

const urlNeedsS3: Rule = (config) =>
  at(config, 'storage', 's3') === null
    ? consumers(config)
        .filter(({ entry }) => at(entry, 'pass_as') === 'url')
        .map(({ path }) => ({ path: [...path, 'pass_as'], message: 'can be url only when storage.s3 is set' }))
    : [];

/** Arguments of entries of type `files`, each with its path. */
const fileArguments = (config: unknown): { argument: unknown; path: Path }[] =>
  entries(config).flatMap(({ entry, path }) => {
    const roles = at(entry, 'type') === 'files' ? at(entry, 'arguments') : undefined;
    if (typeof roles !== 'object' || roles === null) return [];
    return Object.entries(roles).map(([name, argument]) => ({ argument, path: [...path, 'arguments', name] }));
  });

const urlsAreRead: Rule = (config) =>
  fileArguments(config).flatMap(({ argument, path }) => {
    if (at(argument, 'as') !== 'url') return [];
    const isRead = at(argument, 'role') === 'in';
    if (isRead && at(config, 'storage', 's3') !== null) return [];
    const message = `can be url only ${isRead ? 'when storage.s3 is set' : 'with the role in: tools write to a folder that they share with the adapter'}`;
    return [{ path: [...path, 'as'], message }];
  });

const patternOrKey: Rule = (config) =>
  entries(config).flatMap(({ entry, path }) =>
    list(entry, 'found').flatMap((one, index) => {
      const [pattern, key] = [at(one, 'pattern'), at(one, 'path_key')];
      if (isText(pattern) !== isText(key) || !isTextOrNull(pattern) || !isTextOrNull(key)) return [];
      return [{ path: [...path, 'found', index, 'pattern'], message: 'must be there or path_key, and not both' }];
    }),
  );

/** Servers with a profile that is known, each with its path. */
const profiles = (config: unknown): { name: ProfileName; folder: unknown; path: Path }[] =>
  list(config, 'servers').flatMap((server, index) => {
    const name = PROFILE_NAMES.find((known) => known === at(server, 'profile', 'name'));
    const path = ['servers', index, 'profile'];
    return name === undefined ? [] : [{ name, folder: at(server, 'profile', 'folder'), path }];
  });

const profilesNeedFolders: Rule = (config) =>
  profiles(config).flatMap(({ name, folder, path }) => {
    if (folder !== null || !needsFolder(name)) return [];
    const message = `needs the folder that the server writes to, as the adapter sees it: { name: ${name}, folder: /… }`;
    return [{ path, message }];
  });

const writtenFilesNeedArtifacts: Rule = (config) => {
  if (at(config, 'artifacts', 'enabled') !== false) return [];
  const message = 'needs artifacts.enabled: what the tool writes has to become an artifact';
  const written = fileArguments(config).filter(({ argument }) => at(argument, 'role') !== 'in');
  const withFound = entries(config).filter(({ entry }) => list(entry, 'found').length > 0);
  return [
    ...written.map(({ path }) => ({ path, message })),
    ...withFound.map(({ path }) => ({ path: [...path, 'found'], message })),
    ...profiles(config).flatMap(({ name, path }) => (writesFiles(name) ? [{ path, message }] : [])),
  ];
};

const structuredNeedsKey: Rule = (config) =>
  entries(config).flatMap(({ entry, path }) =>
    at(entry, 'type') === 'artifact_producer' &&
    at(entry, 'output_path_argument') === null &&
    at(entry, 'output_locator', 'mode') === 'structured' &&
    at(entry, 'output_locator', 'output_path_key') === null
      ? [
          {
            path: [...path, 'output_locator', 'output_path_key'],
            message: 'is required when output_locator.mode is structured and output_path_argument is null',
          },
        ]
      : [],
  );

const spillsNeedArtifacts: Rule = (config) => {
  if (at(config, 'artifacts', 'enabled') !== false) return [];
  const spills = (settings: unknown): boolean => {
    const chars = at(settings, 'spill_over_chars');
    return typeof chars === 'number' && chars > 0;
  };
  const message = 'must be 0 while artifacts.enabled is false: what is too long has to go somewhere';
  const ofServers = list(config, 'servers').flatMap((server, index) => {
    const path = ['servers', index, 'results'];
    const tools = at(server, 'results', 'tools');
    const names = typeof tools === 'object' && tools !== null ? Object.keys(tools) : [];
    return [path, ...names.map((name) => [...path, 'tools', name])];
  });
  return [['core', 'results'], ...ofServers]
    .filter((path) => spills(at(config, ...path)))
    .map((path) => ({ path: [...path, 'spill_over_chars'], message }));
};

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

const RULES: readonly Rule[] = [
  sessionsNeedCallers,
  authNeedsCredentials,
  namedTokens,
  audiencesNeedUrl,
  tokensStayHere,
  oneKindOfObject,
  accessNeedsCallers,
  limitsLimit,
  burstsHaveRates,
  roomForOneBody,
  credentialsNeedOrigins,
  credentialsAreUnsafe,
  httpExportNeedsUrl,
  tracesNeedTelemetry,
  separatePorts,
  redisNeedsHost,
  redisLockNeedsRedis,
  configuredRootsNeedRoots,
  legacyServerExists,
  uniqueIds,
  separatePaths,
  handlesMatchUploads,
  onePassing,
  urlNeedsS3,
  urlsAreRead,
  patternOrKey,
  profilesNeedFolders,
  writtenFilesNeedArtifacts,
  structuredNeedsKey,
  spillsNeedArtifacts,
  sharingNeedsIdentity,
];

/** Reports every violation as an issue. */
export const adapterRules = checkRules(RULES);

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== '';

const isTextOrNull = (value: unknown): boolean => value === null || isText(value);

const at = (value: unknown, ...path: Path): unknown => valueAt(value, path);

function list(value: unknown, ...path: Path): unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** All entries of `adapters` of all servers, each with its path. */
function entries(config: unknown): { entry: unknown; path: Path }[] {
  return list(config, 'servers').flatMap((server, index) =>
    list(server, 'adapters').map((entry, position) => ({ entry, path: ['servers', index, 'adapters', position] })),
  );
}

const consumers = (config: unknown): { entry: unknown; path: Path }[] =>
  entries(config).filter(({ entry }) => at(entry, 'type') === 'upload_consumer');
