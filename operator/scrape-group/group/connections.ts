import { valueAt } from '../../../lib/json/tree.ts';
import { type Connection, type Target, hostname, targetOfUrl } from '../../validation/connections.ts';
import { isUnknown } from '../../validation/known-values.ts';
import { textAt } from '../../kubernetes/unstructured.ts';

const TOKEN_ENDPOINTS = ['getTokenEndpoint', 'tokenEndpoint'];
const GRPC_PORT = 4317;
const VALKEY_PORT = 6379;

/**
 * Where the pods connect to: the APIs, what gives tokens, the collector, and the store.
 * @param scraper the section of the file, with references resolved and unknown values marked; the entries likewise
 */
export function connectionsOf(
  scraper: unknown,
  entries: readonly { readonly resource: string; readonly entry: unknown }[],
): Connection[] {
  const sources = entries.flatMap(({ resource, entry }) => sourceConnections(entry, `${resource}: spec.`));
  return [...sources, ...settingsConnections(scraper, 'spec.')];
}

/** What of an entry says where it connects to; the rest of it need not be resolved. */
export function placesOf(entry: unknown): unknown {
  const auth = TOKEN_ENDPOINTS.map((name) => [name, textAt(entry, 'auth', name)] as const);
  return {
    baseUrl: textAt(entry, 'baseUrl'),
    endpoint: textAt(entry, 'endpoint'),
    auth: Object.fromEntries(auth.filter(([, value]) => value !== undefined)),
  };
}

/** Those of one source. The names of the fields begin with `prefix`. */
export function sourceConnections(entry: unknown, prefix: string): Connection[] {
  const field = (name: string): string => `${prefix}source.${name}`;
  const endpoint = textAt(entry, 'endpoint') ?? '';
  const elsewhere = /^https?:\/\//i.test(endpoint) || isUnknown(endpoint.slice(0, 1));
  return [
    { field: field('baseUrl'), target: targetOfUrl(textAt(entry, 'baseUrl')) },
    ...(elsewhere ? [{ field: field('endpoint'), target: targetOfUrl(endpoint) }] : []),
    ...TOKEN_ENDPOINTS.filter((name) => textAt(entry, 'auth', name) !== undefined).map((name) => ({
      field: field(`auth.${name}`),
      target: targetOfUrl(textAt(entry, 'auth', name)),
    })),
  ];
}

/** Those of the settings: the collector and the store. */
export const settingsConnections = (scraper: unknown, prefix: string): Connection[] => [
  collector(scraper, prefix),
  ...valkey(scraper, prefix),
];

function collector(scraper: unknown, prefix: string): Connection {
  const endpoint = textAt(scraper, 'otelCollectorEndpoint');
  const http = textAt(scraper, 'otelTransport') === 'http';
  // Exporters of OTLP over gRPC take a URL without a port in different ways.
  return { field: `${prefix}scraper.otelCollectorEndpoint`, target: targetOfUrl(endpoint, http ? [] : [GRPC_PORT]) };
}

function valkey(scraper: unknown, prefix: string): Connection[] {
  const backend = valueAt(scraper, ['fingerprintStore', 'backend']) ?? 'sqlite';
  if (backend === 'sqlite') return [];
  const section = valueAt(scraper, ['fingerprintStore', 'redis']) === undefined ? 'valkey' : 'redis';
  const at = (name: string): unknown => valueAt(scraper, ['fingerprintStore', section, name]);
  return [{ field: `${prefix}scraper.fingerprintStore.${section}.host`, target: storeTarget(at('host'), at('port')) }];
}

function storeTarget(host: unknown = 'localhost', port: unknown = VALKEY_PORT): Target | undefined {
  if (typeof host !== 'string' || isUnknown(host) || isUnknown(port)) return undefined;
  const number = Number(port);
  return Number.isInteger(number) ? { host: hostname(host.trim()), ports: [number] } : undefined;
}
