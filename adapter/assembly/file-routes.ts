import type { FastifyInstance } from 'fastify';

import { AdapterError } from '../errors.ts';
import type { FileDeps } from './file-deps.ts';
import type { StepUp } from '../http/auth.ts';
import { artifactRoute } from '../http/artifact-route.ts';
import type { RunningDownloads } from '../http/running-downloads.ts';
import { uploadRoute } from '../http/upload/upload-route.ts';
import { fileTimes, presignTtlSeconds } from './open-files.ts';

/** Where nothing stores files; the route says first that uploads are off. */
const NO_UPLOADS = { closed: false, receive: () => Promise.reject(new AdapterError('uploads_disabled')) };

/** The routes by which files come in and go out beside MCP. */
export function fileRoutes(
  app: FastifyInstance,
  parts: FileDeps & {
    readonly downloads: RunningDownloads;
    readonly stepUp: StepUp;
    readonly known: (error: unknown) => AdapterError;
  },
): void {
  const { config, store, opened, sessions, secret, notices, downloads, telemetry, nonces, backend, stepUp, known } =
    parts;
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
    stepUp,
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
    records: store.files,
    uploadTtlMs: fileTimes(config).uploadTtlMs,
    statusTtlMs: uploads.page_url_ttl_seconds * 1000,
    clock: () => store.now(),
  });
  if (!core.allow_artifacts_download || opened === undefined) return;
  artifactRoute(app, {
    serverIds,
    get secret() {
      return secret.value;
    },
    ttlMs: fileTimes(config).artifactTtlMs,
    uriScheme: config.artifacts.uri_scheme,
    redirectTtlSeconds: presignTtlSeconds(config),
    stepUp,
    sessions,
    records: store.files,
    files: opened.files,
    running: downloads,
    telemetry,
    known,
  });
}
