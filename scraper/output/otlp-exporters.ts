import { checkServerIdentity } from 'node:tls';
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs';
import type { AggregationTemporality, InstrumentType, ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base';
import type { ScraperSettings } from '../../crds/config/scraper-file/settings.ts';
import type { Environment } from '../../lib/references/reference.ts';
import { overGrpc, overHttp } from '../../lib/otlp/exporters.ts';
import { readMaterial, type TlsMaterial } from '../requests/tls-material.ts';

interface ExportResult {
  readonly code: number;
  readonly error?: Error;
}

/** What is used of an exporter. */
export interface Exporter<T> {
  export(items: T, done: (result: ExportResult) => void): void;
  shutdown(): Promise<void>;
}

export interface Exporters {
  readonly metrics: Exporter<ResourceMetrics> & {
    selectAggregationTemporality(type: InstrumentType): AggregationTemporality;
  };
  readonly logs: Exporter<ReadableLogRecord[]>;
  /** Where answers with `Retry-After` come from; empty for grpc. */
  readonly urls: readonly string[];
  /** Milliseconds that one export may take, with its repetitions. */
  readonly timeoutMs: number;
}

export type OtlpSettings = Pick<
  ScraperSettings,
  'otelCollectorEndpoint' | 'otelTransport' | 'otelHeaders' | 'otelCompression' | 'otelTls' | 'enforceTls'
>;

const DEFAULT_TIMEOUT_MS = 10_000;

/**
 * OpenTelemetry's exporters for the collector. What the settings leave open (headers, compression, timeout, certificates,
 * temporality) they take from the variables `OTEL_EXPORTER_OTLP_*`.
 *
 * @throws RequestFailure when a certificate cannot be read
 */
export async function createExporters(settings: OtlpSettings, env: Environment): Promise<Exporters> {
  const configured = Number(env['OTEL_EXPORTER_OTLP_TIMEOUT']);
  const timeoutMs = configured > 0 ? configured : DEFAULT_TIMEOUT_MS;
  const shared = {
    timeoutMillis: timeoutMs,
    compression: settings.otelCompression === 'gzip' ? CompressionAlgorithm.GZIP : undefined,
  };
  const material = await readMaterial(settings.otelTls);
  return settings.otelTransport === 'http' ? toHttp(settings, material, shared) : toGrpc(settings, material, shared);
}

interface Shared {
  readonly timeoutMillis: number;
  readonly compression: CompressionAlgorithm | undefined;
}

async function toHttp(settings: OtlpSettings, { ca, cert, key }: TlsMaterial, shared: Shared): Promise<Exporters> {
  const base = withScheme(settings).replace(/\/+$/, '');
  const { verify, serverName } = settings.otelTls;
  const options = {
    ...shared,
    headers: settings.otelHeaders,
    httpAgentOptions: isTlsConfigured(settings, { ca, cert, key })
      ? { keepAlive: true, ca, cert, key, rejectUnauthorized: verify, servername: serverName ?? undefined }
      : undefined,
  };
  const urls = [`${base}/v1/metrics`, `${base}/v1/logs`] as const;
  return {
    metrics: (await overHttp({ ...options, url: urls[0] })).metrics(),
    logs: (await overHttp({ ...options, url: urls[1] })).logs(),
    urls,
    timeoutMs: shared.timeoutMillis,
  };
}

async function toGrpc(settings: OtlpSettings, material: TlsMaterial, shared: Shared): Promise<Exporters> {
  const { credentials, Metadata } = await import('@grpc/grpc-js');
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(settings.otelHeaders)) metadata.set(name, value);
  const url = withScheme(settings);
  const { verify, serverName } = settings.otelTls;
  const { ca, cert, key } = material;
  const bytes = (text: string | undefined): Buffer | null => (text === undefined ? null : Buffer.from(text));
  const exporters = await overGrpc({
    ...shared,
    url,
    metadata,
    credentials:
      url.startsWith('https:') && isTlsConfigured(settings, material)
        ? credentials.createSsl(bytes(ca), bytes(key), bytes(cert), {
            rejectUnauthorized: verify,
            checkServerIdentity: (host, certificate) => checkServerIdentity(serverName ?? host, certificate),
          })
        : undefined,
  });
  return { metrics: exporters.metrics(), logs: exporters.logs(), urls: [], timeoutMs: shared.timeoutMillis };
}

const isTlsConfigured = ({ otelTls }: OtlpSettings, { ca, cert, key }: TlsMaterial): boolean =>
  !otelTls.verify || (ca ?? cert ?? key ?? otelTls.serverName ?? undefined) !== undefined;

/** Without a scheme, TLS is used where it is enforced. */
function withScheme({ otelCollectorEndpoint: endpoint, enforceTls }: OtlpSettings): string {
  return /^https?:\/\//i.test(endpoint) ? endpoint : `${enforceTls ? 'https' : 'http'}://${endpoint}`;
}
