import type { AddressInfo } from 'node:net';

import { createRedaction } from '../../../lib/redaction/redact.ts';
import type { ByteAccount } from '../../byte-account.ts';
import { knownError } from '../../errors.ts';
import { KeepAlive } from '../../exchange/answers/keep-alive.ts';
import { RunningExchanges } from '../../exchange/running.ts';
import { sampleAccount } from '../../testing/sample-account.ts';
import { sampleIdentification } from '../../identity/testing/sample-identification.ts';
import { mcpRoute } from '../../http/mcp-route.ts';
import { HostNames } from '../../http/host-names.ts';
import { OriginPolicy } from '../../http/origin.ts';
import { closeServer, createServer } from '../../http/server.ts';
import { SessionFiles } from '../../sessions/session-files.ts';
import { SessionRegistry } from '../../sessions/session-registry.ts';
import { UpstreamSessions } from '../../sessions/upstream-sessions.ts';
import { MemoryBus } from '../../state/memory/memory-bus.ts';
import { MemoryStore } from '../../state/memory/memory-store.ts';
import { createLogger } from '../../telemetry/logs/logger.ts';
import { RecordingTelemetry } from '../../telemetry/testing/recording-telemetry.ts';
import { StreamableHttpUpstream } from '../../upstream/streamable-http.ts';
import type { MountOptions } from '../../mount/create-mount.ts';
import { Gateway } from '../gateway.ts';
import { StreamOrder } from '../../sessions/stream-order.ts';
import { ToolParameters } from '../../tools/tool-parameters.ts';
import type { Mount } from '../../mount/mount.ts';
import { sampleMount } from './sample-mount.ts';

/** One mount on a port, with everything behind it but files. */
export interface GatewayServer extends AsyncDisposable {
  readonly url: string;
  readonly mount: Mount;
  readonly gateway: Gateway;
  readonly bus: MemoryBus;
  readonly telemetry: RecordingTelemetry;
  readonly unexpected: unknown[];
}

/** `additionsOf` gets the gateway, through which code makes its calls. */
export async function startGatewayServer(
  upstreamUrl: string,
  server: Record<string, unknown> = {},
  additionsOf?: (gateway: () => Gateway, bus: MemoryBus) => MountOptions['additions'],
  door: { readonly token?: string; readonly account?: ByteAccount } = {},
): Promise<GatewayServer> {
  const telemetry = new RecordingTelemetry();
  const unexpected: unknown[] = [];
  const onError = (error: unknown): void => void unexpected.push(error);
  const store = new MemoryStore();
  const account = door.account ?? sampleAccount();
  const bus = new MemoryBus({ onListenerError: onError, account });
  const limits = { maxActive: null, maxInFlight: null, idleTtlMs: null };
  const sessions = new SessionRegistry(store, limits, telemetry);
  const bytes = { discard: () => Promise.resolve(), discardSession: () => Promise.resolve() };
  const keepAlive = new KeepAlive();
  const gateway: Gateway = new Gateway({
    store,
    bus,
    sessions,
    sessionFiles: new SessionFiles(store, bytes, onError),
    upstreamSessions: new UpstreamSessions(store),
    streamOrder: new StreamOrder(bus, () => store.now()),
    running: new RunningExchanges(),
    keepAlive,
    toolParameters: new ToolParameters(),
    telemetry,
    notes: true,
    hashArguments: (text) => `hash of ${text}`,
    tracing: undefined,
    tombstoneTtlMs: 60_000,
    terminationRetries: 1,
    baseUrl: ({ protocol, host }) => `${protocol}://${host}`,
    stepUp: () => undefined,
    refusesSessions: () => undefined,
    leavesStreams: () => false,
    known: (error) => knownError(error, onError),
  });
  const mount = sampleMount(server, {
    upstream: new StreamableHttpUpstream({ url: upstreamUrl, insecureTls: false }),
    telemetry,
    additions: additionsOf?.(() => gateway, bus),
  });
  const app = createServer({
    identification: sampleIdentification(door.token),
    hosts: new HostNames({ allowed: [], publicBaseUrl: null, boundHost: '127.0.0.1', machine: 'machine' }),
    origins: new OriginPolicy(
      { enabled: false, allowed_origins: [], allowed_methods: [], allowed_headers: [], allow_credentials: false },
      { publicBaseUrl: null, boundHost: '127.0.0.1' },
    ),
    trustedProxies: [],
    connections: { max: 1000, perPeer: null, isProxy: () => false, warn: () => undefined },
    isDraining: () => false,
    isMount: (path) => path === mount.path,
    logger: createLogger('critical', createRedaction(), { write: () => undefined }),
    telemetry,
  });
  const known = (error: unknown) => knownError(error, onError);
  mcpRoute(app, mount, gateway.http(mount), { maxBodyBytes: 1_000_000, account, known });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${mount.path}`,
    mount,
    gateway,
    bus,
    telemetry,
    unexpected,
    async [Symbol.asyncDispose]() {
      await closeServer(app, 100);
      sessions.stop();
      keepAlive.stop();
      await mount.upstream.close();
    },
  };
}
