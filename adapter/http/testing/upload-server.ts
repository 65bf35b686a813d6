import { createHash, randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { knownError } from '../../errors.ts';
import { ProcessLocks } from '../../files/locks/process-lock.ts';
import { Quotas } from '../../files/store/quotas.ts';
import { storedFiles, type StoredFiles } from '../../files/testing/stored-files.ts';
import { UploadUrls } from '../../files/urls/upload-urls.ts';
import { Uploads } from '../../files/uploads/uploads.ts';
import { SessionRegistry } from '../../sessions/session-registry.ts';
import type { FileRecord } from '../../state/file-records.ts';
import type { SessionRecord } from '../../state/state-store.ts';
import { createRedaction } from '../../../lib/redaction/redact.ts';
import { createLogger } from '../../telemetry/logs/logger.ts';
import { RecordingTelemetry } from '../../telemetry/testing/recording-telemetry.ts';
import { sampleIdentification } from '../../identity/testing/sample-identification.ts';
import { HostNames } from '../host-names.ts';
import { OriginPolicy } from '../origin.ts';
import { closeServer, createServer } from '../server.ts';
import { uploadRoute, type Uploaded } from '../upload/upload-route.ts';

export const TOKEN = 'right';
const PRINCIPAL = 'hash of the token';
const SECRET = 'signing secret';

export interface UploadServerOptions {
  readonly auth?: boolean;
  readonly enabled?: boolean;
  readonly maxFileBytes?: number;
  readonly requireSha256?: boolean;
  readonly maxTotal?: number;
  readonly maxSession?: number;
  /** The address that the Origin policy believes in; of a loopback address it lets everybody in on this machine. */
  readonly boundHost?: string;
  readonly ttlSeconds?: number;
}

/** The route for uploads on a port, with real files, records and sessions behind it. */
export interface UploadServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly files: StoredFiles;
  readonly uploads: Uploads;
  readonly done: Uploaded[];
  readonly unexpected: unknown[];
  readonly telemetry: RecordingTelemetry;
  /** A session at the server `pw`, opened with the token where there is one. */
  session(): Promise<SessionRecord>;
  /** A signed URL for a session. */
  signed(session: SessionRecord, more?: { toolName?: string; elicitationId?: string }): Promise<string>;
  /** What lies on the disk: paths below `uploads/sessions`. */
  onDisk(): Promise<string[]>;
  /** Committed and pending uploads of a session. */
  records(session: SessionRecord): Promise<readonly FileRecord[]>;
}

export async function startUploadServer(options: UploadServerOptions = {}): Promise<UploadServer> {
  const { auth = false, maxFileBytes = 1000, requireSha256 = false } = options;
  const files = await storedFiles();
  const { store } = files;
  const unexpected: unknown[] = [];
  const telemetry = new RecordingTelemetry();
  const sessions = new SessionRegistry(store, { maxActive: null, maxInFlight: null, idleTtlMs: null });
  const quotas = new Quotas({
    records: store.files,
    files: files.bytes,
    limits: { maxTotal: options.maxTotal ?? null, maxSession: options.maxSession ?? null, evictFirst: 'upload' },
    times: { uploadTtlMs: 60_000, artifactTtlMs: 60_000 },
    clock: Date.now,
  });
  const uploads = new Uploads({
    records: store.files,
    files: files.bytes,
    quotas,
    locks: new ProcessLocks(),
    maxFileBytes,
    requireSha256,
    clock: Date.now,
  });
  const urls = new UploadUrls({
    nonces: store.nonces,
    secret: SECRET,
    path: '/upload',
    clock: Date.now,
  });
  const app = createServer({
    identification: sampleIdentification(auth ? TOKEN : undefined, PRINCIPAL),
    hosts: new HostNames({
      allowed: [],
      publicBaseUrl: null,
      boundHost: options.boundHost ?? '0.0.0.0',
      machine: 'machine',
    }),
    origins: new OriginPolicy(
      { enabled: false, allowed_origins: [], allowed_methods: [], allowed_headers: [], allow_credentials: false },
      { publicBaseUrl: null, boundHost: options.boundHost ?? '0.0.0.0' },
    ),
    trustedProxies: [],
    connections: { max: 1000, perPeer: null, isProxy: () => false, warn: () => undefined },
    isDraining: () => false,
    isMount: () => false,
    telemetry,
    logger: createLogger('critical', createRedaction(), { write: () => undefined }),
  });
  const done: Uploaded[] = [];
  uploadRoute(app, {
    path: '/upload',
    enabled: options.enabled ?? true,
    servers: new Set(['pw', 'other']),
    authEnabled: auth,
    secret: SECRET,
    nonces: store.nonces,
    sessions,
    uploads,
    uriScheme: 'upload://',
    stepUp: () => undefined,
    maxFileBytes,
    requireSha256,
    telemetry,
    backend: () => 'redis',
    onUploaded: (one) => void done.push(one),
    known: (error) => knownError(error, (one) => void unexpected.push(one)),
    records: store.files,
    uploadTtlMs: 60_000,
    statusTtlMs: 900_000,
    clock: Date.now,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const principal = auth ? PRINCIPAL : '';

  return {
    url,
    port,
    files,
    uploads,
    done,
    unexpected,
    telemetry,
    session: () => files.session({ serverId: 'pw', principal }),
    signed: async (session, more) => {
      const { serverId, sessionId } = session;
      const permission = { serverId, sessionId, principal, toolName: null, elicitationId: null, ...more };
      return (await urls.sign(url, permission, options.ttlSeconds ?? 60)).url;
    },
    async onDisk() {
      const folder = join(files.root, 'uploads', 'sessions');
      const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
      return entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
    },
    records: (session) => store.files.list(session, 'upload', { now: Date.now(), ttlMs: null }),
    async [Symbol.asyncDispose]() {
      await uploads.close();
      await closeServer(app, 1000);
      sessions.stop();
      await files[Symbol.asyncDispose]();
    },
  };
}

export interface FormPart {
  readonly name: string;
  readonly filename?: string;
  readonly type?: string;
  readonly content: string | Buffer;
}

/** A form as its bytes, so that nothing tidies it up. */
export function form(parts: readonly FormPart[]): { body: Buffer; type: string } {
  const boundary = `boundary-${randomBytes(8).toString('hex')}`;
  const chunks = parts.flatMap(({ name, filename, type, content }) => {
    const file = filename === undefined ? '' : `; filename="${filename}"`;
    const header = `Content-Disposition: form-data; name="${name}"${file}\r\n`;
    const typed = type === undefined ? '' : `Content-Type: ${type}\r\n`;
    return [Buffer.from(`--${boundary}\r\n${header}${typed}\r\n`), Buffer.from(content), Buffer.from('\r\n')];
  });
  const body = Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)]);
  return { body, type: `multipart/form-data; boundary=${boundary}` };
}

export const file = (filename: string, content: string | Buffer, type?: string): FormPart => ({
  name: 'file',
  filename,
  type,
  content,
});

export const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');
