import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServerCredentials } from '@grpc/grpc-js';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ClientTls } from '../../crds/config/scraper-file/tls.ts';
import { Authority, type KeyPair } from '../requests/testing/certificates.ts';
import { createExporters } from './otlp-exporters.ts';
import { GrpcReceiver } from '../../lib/otlp/testing/grpc-receiver.ts';
import { OtlpReceiver } from '../../lib/otlp/testing/otlp-receiver.ts';

let authority: Authority;
let other: Authority;
let local: KeyPair;
let client: KeyPair;
let stranger: KeyPair;
const collectors: AsyncDisposable[] = [];

beforeAll(async () => {
  [authority, other] = await Promise.all([Authority.create(), Authority.create()]);
  local = await authority.issue('IP:127.0.0.1');
  client = await authority.issue('DNS:scraper');
  stranger = await other.issue('DNS:scraper');
});
afterAll(async () => {
  for (const collector of collectors) await collector[Symbol.asyncDispose]();
  await Promise.all([authority.remove(), other.remove()]);
});

type Transport = 'http' | 'grpc';

/** A collector with this certificate; returns its endpoint. */
async function collect(transport: Transport, pair: KeyPair, wantsClient = false): Promise<string> {
  if (transport === 'http') {
    const clients = wantsClient ? { ca: authority.cert, requestCert: true, rejectUnauthorized: true } : {};
    const receiver = new OtlpReceiver({ ...pair, ...clients });
    collectors.push(receiver);
    return await receiver.listen();
  }
  const pairs = [{ cert_chain: Buffer.from(pair.cert), private_key: Buffer.from(pair.key) }];
  const receiver = new GrpcReceiver(ServerCredentials.createSsl(Buffer.from(authority.cert), pairs, wantsClient));
  collectors.push(receiver);
  return await receiver.listen();
}

/** Whether an export with these settings arrives. */
async function arrives(transport: Transport, endpoint: string, tls: Partial<ClientTls>): Promise<boolean> {
  const settings = {
    otelCollectorEndpoint: endpoint,
    otelTransport: transport,
    otelHeaders: {},
    otelCompression: 'none' as const,
    otelTls: ClientTls.parse(tls),
    enforceTls: true,
  };
  const { metrics } = await createExporters(settings, { OTEL_EXPORTER_OTLP_TIMEOUT: '1000' });
  const empty = { resource: resourceFromAttributes({}), scopeMetrics: [] };
  const { code } = await new Promise<{ code: number }>((done) => metrics.export(empty, done));
  await metrics.shutdown();
  return code === 0;
}

async function filesOf({ cert, key }: KeyPair, name: string): Promise<{ certFile: string; keyFile: string }> {
  const [certFile, keyFile] = [join(authority.folder, `${name}.cert`), join(authority.folder, `${name}.key`)];
  await writeFile(certFile, cert);
  await writeFile(keyFile, key);
  return { certFile, keyFile };
}

describe.each<Transport>(['http', 'grpc'])('otelTls over %s', (transport) => {
  test('verify: an unknown authority is refused, unless it is false', async () => {
    const endpoint = await collect(transport, local);
    expect(await arrives(transport, endpoint, {})).toBe(false);
    expect(await arrives(transport, endpoint, { verify: false })).toBe(true);
  });

  test('ca and caFile: only their authorities are trusted', async () => {
    const endpoint = await collect(transport, local);
    expect(await arrives(transport, endpoint, { ca: authority.cert })).toBe(true);
    expect(await arrives(transport, endpoint, { ca: other.cert })).toBe(false);
    expect(await arrives(transport, endpoint, { caFile: join(authority.folder, 'ca.pem') })).toBe(true);
    expect(await arrives(transport, endpoint, { caFile: join(other.folder, 'ca.pem') })).toBe(false);
  });

  test('serverName: whom the certificate is verified for', async () => {
    const endpoint = await collect(transport, await authority.issue('DNS:collector.internal'));
    const ca = authority.cert;
    expect(await arrives(transport, endpoint, { ca })).toBe(false);
    expect(await arrives(transport, endpoint, { ca, serverName: 'collector.internal' })).toBe(true);
    expect(await arrives(transport, endpoint, { ca, serverName: 'other.internal' })).toBe(false);
  });

  test('cert and key, certFile and keyFile: who the scraper is', async () => {
    const endpoint = await collect(transport, local, true);
    const ca = authority.cert;
    expect(await arrives(transport, endpoint, { ca })).toBe(false);
    expect(await arrives(transport, endpoint, { ca, ...client })).toBe(true);
    expect(await arrives(transport, endpoint, { ca, ...stranger })).toBe(false);
    expect(await arrives(transport, endpoint, { ca, ...(await filesOf(client, 'client')) })).toBe(true);
    expect(await arrives(transport, endpoint, { ca, ...(await filesOf(stranger, 'stranger')) })).toBe(false);
  });
});
