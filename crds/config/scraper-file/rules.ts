import { type Rule, type Violation, checkRules } from '../load/rules.ts';
import { type Path, valueAt } from '../../../lib/json/tree.ts';

/** Rules of the scraper's file that concern more than one field. */

const at = (value: unknown, ...path: Path): unknown => valueAt(value, path);

const list = (value: unknown, ...path: Path): unknown[] => {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
};

const frequencyOrCron: Rule = (source) =>
  at(source, 'frequency') === null && at(source, 'cron') === null && at(source, 'scrape', 'frequency') === null
    ? [{ path: ['frequency'], message: 'is required (a duration such as 30s, 5m or 1h) unless cron is set' }]
    : [];

const oneFrequency: Rule = (source) => {
  const [outer, inner] = [at(source, 'frequency'), at(source, 'scrape', 'frequency')];
  return typeof outer === 'number' && typeof inner === 'number' && outer !== inner
    ? [{ path: ['scrape', 'frequency'], message: 'contradicts frequency of the source; remove it' }]
    : [];
};

const rangeNeedsKeys: Rule = (source) =>
  at(source, 'scrape', 'type') === 'range' && at(source, 'scrape', 'rangeKeys') === null
    ? [{ path: ['scrape', 'rangeKeys'], message: 'is required when scrape.type is range' }]
    : [];

const windowsNeedRange: Rule = (source) =>
  at(source, 'scrape', 'type') === 'instant'
    ? ['parallelWindow', 'maxCatchUp', 'maxConcurrentWindows']
        .filter((name) => isSet(at(source, 'scrape', name)))
        .map((name) => ({ path: ['scrape', name], message: 'can be set only when scrape.type is range' }))
    : [];

const windowTimeNeedsWindow: Rule = (source) =>
  at(source, 'scrape', 'type') === 'instant' && at(source, 'pointTime') === 'window'
    ? [{ path: ['pointTime'], message: 'can be window only when scrape.type is range; write record or scrape' }]
    : [];

const RUNTIME_TOKEN = ['username', 'password', 'getTokenEndpoint', 'tokenKey'];

const oauthNeedsToken: Rule = (source) => {
  const auth = at(source, 'auth');
  if (at(auth, 'type') !== 'oauth' || at(auth, 'token') !== null) return [];
  const missing = RUNTIME_TOKEN.filter((name) => at(auth, name) === null);
  if (missing.length === RUNTIME_TOKEN.length) {
    return [{ path: ['auth'], message: `needs token, or all of ${RUNTIME_TOKEN.join(', ')}` }];
  }
  return missing.map((name) => ({
    path: ['auth', name],
    message: `is required without token, as all of ${RUNTIME_TOKEN.join(', ')}`,
  }));
};

const bodyLinkNeedsKey: Rule = (source) => {
  const pagination = at(source, 'scrape', 'pagination');
  return at(pagination, 'from') === 'body' && at(pagination, 'linkKey') === null
    ? [{ path: ['scrape', 'pagination', 'linkKey'], message: 'is required when from is body' }]
    : [];
};

const delaysInOrder: Rule = (source) => {
  const [initial, max] = [at(source, 'scrape', 'retry', 'initialDelay'), at(source, 'scrape', 'retry', 'maxDelay')];
  return typeof initial === 'number' && typeof max === 'number' && initial > max
    ? [{ path: ['scrape', 'retry', 'maxDelay'], message: 'must not be shorter than initialDelay' }]
    : [];
};

/** A text and the file that holds it exclude each other, and a certificate is of no use without its key. */
function tlsViolations(tls: unknown, path: Path): Violation[] {
  const both = ['ca', 'cert', 'key'].filter((name) => isSet(at(tls, name)) && isSet(at(tls, `${name}File`)));
  const has = (name: string): boolean => isSet(at(tls, name)) || isSet(at(tls, `${name}File`));
  const lacks = (name: string): boolean => at(tls, name) === null && at(tls, `${name}File`) === null;
  return [
    ...both.map((name) => ({ path: [...path, `${name}File`], message: `cannot be set together with ${name}` })),
    ...(has('cert') && lacks('key') ? [{ path: [...path, 'key'], message: 'is required with a certificate' }] : []),
    ...(has('key') && lacks('cert') ? [{ path: [...path, 'cert'], message: 'is required with a private key' }] : []),
  ];
}

const attributeNamesMetric: Rule = (source) =>
  list(source, 'attributes').flatMap((attribute, index) => {
    const [name, asMetric] = [at(attribute, 'name'), at(attribute, 'asMetric')];
    return at(asMetric, 'metricName') === null && typeof name === 'string' && !/^[A-Za-z][\w.\-/]{0,254}$/.test(name)
      ? [
          {
            path: ['attributes', index, 'asMetric', 'metricName'],
            message: 'is required, because the name of the attribute cannot be the name of a metric',
          },
        ]
      : [];
  });

export const sourceRules = checkRules([
  frequencyOrCron,
  oneFrequency,
  rangeNeedsKeys,
  windowsNeedRange,
  windowTimeNeedsWindow,
  oauthNeedsToken,
  bodyLinkNeedsKey,
  delaysInOrder,
  (source) => tlsViolations(at(source, 'tls'), ['tls']),
  attributeNamesMetric,
]);

const httpExportNeedsUrl: Rule = (config) => {
  const endpoint = at(config, 'scraper', 'otelCollectorEndpoint');
  return at(config, 'scraper', 'otelTransport') === 'http' &&
    typeof endpoint === 'string' &&
    !/^https?:\/\//i.test(endpoint)
    ? [
        {
          path: ['scraper', 'otelCollectorEndpoint'],
          message: 'must start with http:// or https:// when scraper.otelTransport is http',
        },
      ]
    : [];
};

const adminNeedsSecret: Rule = (config) =>
  at(config, 'scraper', 'enableAdminApi') === true && at(config, 'scraper', 'adminSecretEnv') === null
    ? [{ path: ['scraper', 'adminSecretEnv'], message: 'is required when scraper.enableAdminApi is true' }]
    : [];

const uniqueNames: Rule = (config) => {
  const first = new Map<unknown, number>();
  return list(config, 'sources').flatMap((source, index) => {
    const name = at(source, 'name');
    if (typeof name !== 'string') return [];
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, index);
    return earlier === undefined
      ? []
      : [
          {
            path: ['sources', index, 'name'],
            message: `is also the name of sources[${earlier}]; names must be unique`,
          },
        ];
  });
};

export const scraperRules = checkRules([
  httpExportNeedsUrl,
  adminNeedsSecret,
  uniqueNames,
  (config) => tlsViolations(at(config, 'scraper', 'otelTls'), ['scraper', 'otelTls']),
]);

const isSet = (value: unknown): boolean => value !== null && value !== undefined;
