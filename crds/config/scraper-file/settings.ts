import { z } from 'zod';
import { duration } from '../values/duration.ts';
import { headerMap, otlpEndpoint } from '../values/network-values.ts';
import { FingerprintStore } from './fingerprint-store.ts';
import { ClientTls } from './tls.ts';
import { flag, integer, maybeEmpty, oneOf, oneOfAnyCase, text, trimmedOrNull } from '../values/values.ts';

/** Section `scraper` of the scraper's file: the program itself, and where its telemetry goes. */
export const ScraperSettings = z.strictObject({
  otelCollectorEndpoint: otlpEndpoint().describe(
    'OTLP endpoint of the collector: a URL, or `host:port` for grpc. With http, `/v1/metrics` and `/v1/logs` are added.',
  ),
  otelTransport: oneOf(['grpc', 'http']).describe('OTLP protocol.').prefault('grpc'),
  otelHeaders: maybeEmpty(headerMap().prefault({})).describe('(new) Extra headers of every export request.'),
  otelCompression: oneOf(['none', 'gzip']).describe('(new) Compression of export requests.').prefault('none'),
  otelTls: maybeEmpty(ClientTls.prefault({})).describe('(new) TLS to the collector.'),
  serviceName: text()
    .describe('`service.name` of everything that is emitted.')
    // Spelled as in the original, whose dashboards select by it.
    .prefault('otel-api-scrapper'),
  enableSelfTelemetry: flag().describe('Also emit metrics and logs about the scraper itself.').prefault(false),
  allowOverlapScans: flag()
    .describe('Start a run of any source also while its last one still goes on. Sources can only turn this on.')
    .prefault(false),
  logLevel: oneOfAnyCase(['trace', 'debug', 'info', 'warn', 'warning', 'error', 'critical'])
    .describe('Least severe level that is logged.')
    .prefault('debug'),
  enforceTls: flag()
    .describe('Refuse sources whose URL starts with http://, and use TLS for a grpc endpoint without a scheme.')
    .prefault(true),
  dryRun: flag().describe('Log what would be emitted, and neither send nor remember anything.').prefault(false),
  terminateGracefully: flag()
    .describe('At SIGTERM, let running windows finish. When false they are given up and scraped again later.')
    .prefault(true),
  shutdownGrace: duration({ orZero: true })
    .describe('(new) How long running windows may go on after SIGTERM.')
    .prefault('30s'),
  servicePort: integer({ min: 1, max: 65_535 }).describe('TCP port of health checks and the admin API.').prefault(80),
  enableAdminApi: flag().describe('Serve the admin API as well as health checks.').prefault(false),
  adminSecretEnv: trimmedOrNull('the name of an environment variable, or null', (name) => /^[A-Za-z_]\w*$/.test(name))
    .describe(
      'Name of the environment variable with the bearer token of the admin API. Required when `enableAdminApi` is true.',
    )
    .prefault(null),
  defaultTimeFormat: text()
    .describe(
      'Format of window times where a source has none: strftime, or (new) `unix`, `unix_ms`, `unix_us`, `unix_ns`. ' +
        'Empty: ISO 8601 with microseconds.',
    )
    .prefault('%Y-%m-%dT%H:%M:%S%z'),
  maxGlobalConcurrency: integer({ min: 1 })
    .describe(
      'Most requests to sources at a time; where sources have several hosts, at most half of them to one host. The source ' +
        'that was asked for the shortest time lately comes next.',
    )
    .prefault(10),
  defaultSourceConcurrency: integer({ min: 1 })
    .describe('Most windows of one source at a time where it says nothing else.')
    .prefault(4),
  fingerprintStore: maybeEmpty(FingerprintStore.prefault({})).describe('Where progress and fingerprints are kept.'),
});
export type ScraperSettings = z.output<typeof ScraperSettings>;
