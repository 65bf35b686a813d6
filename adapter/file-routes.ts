import type { FastifyInstance } from 'fastify';

import type { AdapterConfig } from '../crds/config/adapter.ts';
import { AdapterError } from './errors.ts';
import type { ClientNotices } from './gateway/client-notices.ts';
import { artifactRoute } from './http/artifact-route.ts';
import type { RunningDownloads } from './http/running-downloads.ts';
import { uploadRoute } from './http/upload-route.ts';
import { fileTimes, type OpenedFiles } from './open-files.ts';
import type { SessionRegistry } from './sessions/session-registry.ts';
import type { SigningSecret } from './signing-secret.ts';
import type { StateStore } from './state/state-store.ts';
import type { UploadNonces } from './state/upload-nonces.ts';
import type { Backend, Telemetry } from './telemetry/telemetry.ts';

/** Where nothing stores files; the route says first that uploads are off. */
const NO_UPLOADS = { closed: false, receive: () => Promise.reject(new AdapterError('uploads_disabled')) };
/** How long presigned URLs are good for where no bucket is configured that could make them. */
const NO_URL_SECONDS = 0;

/** The routes by which files come in and go out beside MCP. */
export function fileRoutes(
  app: FastifyInstance,
  parts: {
    readonly config: AdapterConfig;
    readonly store: StateStore;
    readonly opened: OpenedFiles | undefined;
    readonly sessions: SessionRegistry;
    readonly secret: SigningSecret;
    readonly notices: ClientNotices;
    readonly downloads: RunningDownloads;
    readonly telemetry: Telemetry;
    /** The store's, with telemetry. */
    readonly nonces: UploadNonces;
    readonly backend: () => Backend;
    readonly known: (error: unknown) => AdapterError;
  },
): void {
  const { config, store, opened, sessions, secret, notices, downloads, telemetry, nonces, backend, known } = parts;
  const { core, uploads } = config;
  const serverIds = config.servers.map(({ id }) => id);
  uploadRoute(app, {
    path: core.upload_path,
    enabled: uploads.enabled,
    servers: new Set(serverIds),
    authEnabled: core.auth.enabled,
    get secret() {
      return secret.value;
    },
    nonces,
    sessions,
    uploads: opened?.uploads ?? NO_UPLOADS,
    uriScheme: uploads.uri_scheme,
    maxFileBytes: uploads.max_file_bytes,
    requireSha256: uploads.require_sha256,
    telemetry,
    backend,
    onUploaded: ({ elicitationId, files, ...session }) => {
      const bytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
      telemetry.upload({ serverId: session.serverId, files: files.length, bytes });
      if (elicitationId !== null) notices.elicitationComplete(session, elicitationId);
    },
    known,
    clock: Date.now,
  });
  if (!core.allow_artifacts_download || opened === undefined) return;
  artifactRoute(app, {
    serverIds,
    get secret() {
      return secret.value;
    },
    ttlMs: fileTimes(config).artifactTtlMs,
    redirectTtlSeconds: config.storage.s3?.presign_ttl_seconds ?? NO_URL_SECONDS,
    sessions,
    records: store.files,
    files: opened.files,
    running: downloads,
    telemetry,
    known,
  });
}
