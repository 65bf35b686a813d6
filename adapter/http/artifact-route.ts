import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { downloadOf } from '../access/wishes.ts';
import { artifactUri } from '../artifacts/artifact-uri.ts';
import { AdapterError } from '../errors.ts';
import { streamAnswer } from '../exchange/answers/stream-answer.ts';
import { contentDisposition } from '../files/keys/content-disposition.ts';
import type { FileStore } from '../files/store/file-store.ts';
import { contentType } from '../files/keys/media-type.ts';
import { isId } from '../files/keys/paths.ts';
import { FileRefused, type OpenedFile } from '../files/keys/file-key.ts';
import { openSession, type SignatureState, verifyDownload } from '../files/urls/signed-url.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import { type FileRecord, type FileRecords, versionOf, versionsOf } from '../state/file-records.ts';
import { downloadFailure } from '../telemetry/outcome-labels.ts';
import type { DownloadObservation, Telemetry } from '../telemetry/telemetry.ts';
import { admitFiles, admitSigned, type StepUp } from './auth.ts';
import { byteRange } from './byte-range.ts';
import type { RunningDownloads } from './running-downloads.ts';

export interface ArtifactRouteOptions {
  readonly serverIds: readonly string[];
  /** What download URLs are signed with. */
  readonly secret: string;
  /** `artifacts.ttl_seconds`, in milliseconds. */
  readonly ttlMs: number | null;
  /** How long the URL of object storage is valid to which a client is sent. */
  readonly redirectTtlSeconds: number;
  /** `artifacts.uri_scheme` */
  readonly uriScheme: string;
  readonly stepUp: StepUp;
  readonly sessions: Pick<SessionRegistry, 'find'>;
  readonly records: Pick<FileRecords, 'find' | 'use' | 'now'>;
  readonly files: Pick<FileStore, 'open' | 'url'>;
  readonly running: Pick<RunningDownloads, 'add'>;
  readonly telemetry: Pick<Telemetry, 'download'>;
  /** Any failure as the error to answer with; what is unexpected is logged there. */
  readonly known: (error: unknown) => AdapterError;
}

interface Params {
  readonly server: string;
  /** The session's id, sealed in signed URLs. */
  readonly session: string;
  readonly artifact: string;
  /** The file's name. */
  readonly '*'?: string;
}

type Download = FastifyRequest<{ Params: Params }>;

/** What telemetry is told of a download when it is over. */
interface Served {
  authMode: DownloadObservation['authMode'];
  bytes: number;
}

const ROUTE_GROUP = '/artifacts/{server_id}/{session_id}/{artifact_id}/{filename}';
const EXPIRED: Record<Exclude<SignatureState, 'valid'>, string> = {
  expired: 'The download URL has expired.',
  invalid: 'The download URL is not valid.',
};

/**
 * `GET /artifacts/{server}/{session}/{artifact}[/{filename}]` (specification, section 4): with a signed URL, or with the
 * token and the session. In signed URLs, the id of the session is sealed. Whatever is not the caller's own is not there
 * (404).
 */
export function artifactRoute(app: FastifyInstance, options: ArtifactRouteOptions): void {
  const path = '/artifacts/:server/:session/:artifact';
  for (const url of [path, `${path}/*`]) {
    app.route<{ Params: Params }>({
      method: ['GET', 'HEAD'],
      url,
      config: { decidesItself: true, routeGroup: ROUTE_GROUP },
      handler: async (request, reply) => {
        options.running.add(reply.raw);
        const started = performance.now();
        const served: Served = { authMode: 'session_context', bytes: 0 };
        let result: DownloadObservation['result'] | undefined;
        try {
          await download(options, request, reply, served);
          result = request.attributes.outcome === 'ok' ? 'success' : 'error';
        } catch (error) {
          const known = options.known(error);
          result = error instanceof NotFound ? error.why : downloadFailure(known.code);
          throw known;
        } finally {
          const seconds = (performance.now() - started) / 1000;
          const serverId = request.params.server;
          if (result !== undefined && request.method === 'GET') {
            options.telemetry.download({ serverId, result, ...served, seconds });
          }
        }
        return reply;
      },
    });
    app.route({
      method: ['POST', 'PUT', 'PATCH', 'DELETE'],
      url,
      config: { routeGroup: ROUTE_GROUP },
      handler: (_request, reply) => {
        void reply.header('allow', 'GET, HEAD');
        throw new AdapterError('method_not_allowed');
      },
    });
  }
}

async function download(
  options: ArtifactRouteOptions,
  request: Download,
  reply: FastifyReply,
  served: Served,
): Promise<void> {
  const { records, files, ttlMs } = options;
  const { server: serverId, artifact: fileId, '*': filename } = request.params;
  const sessionId = sessionOf(options, request);
  const key = { serverId, sessionId, kind: 'artifact', fileId } as const;
  const isServer = options.serverIds.includes(serverId);
  const isKnown = isServer && isId(sessionId) && isId(fileId);
  // Set in any case: else the path is logged, with the session in it.
  request.attributes.serverId = isServer ? serverId : '';
  const find = async (how: 'find' | 'use'): Promise<FileRecord | undefined> =>
    isKnown ? records[how](key, { now: records.now(), ttlMs }) : undefined;

  // Only a URL without the name has to be looked up to know what was signed.
  const signedName = filename ?? (isSigned(request) ? (await find('find'))?.filename : undefined) ?? '';
  served.authMode = await admit(options, request, reply, { sessionId, filename: signedName });
  if (!isServer) throw new AdapterError('unknown_server');
  request.attributes.sessionId = sessionId;

  const newest = await find(request.method === 'HEAD' ? 'find' : 'use');
  const file = newest && asked(newest, queryOf(request).getAll('version'));
  if (file === undefined) throw new NotFound('not_found');
  if (filename !== undefined && filename !== file.filename) throw new NotFound('filename_mismatch');
  if (filename === undefined && served.authMode === 'session_context') {
    admitFiles(request, reply, downloadOf(artifactUri(options.uriScheme, file)), options.stepUp);
  }
  const elsewhere = await files.url(file, { expiresInSeconds: options.redirectTtlSeconds, as: 'attachment' });
  if (elsewhere !== undefined) {
    request.attributes.outcome = 'ok';
    // What presigned URLs allow is a GET; for HEAD the record says enough, and the file need not come here for it.
    if (request.method === 'HEAD') sendHead(request, reply, file, { size: file.sizeBytes, modifiedAt: file.createdAt });
    else void reply.code(307).headers({ location: elsewhere, 'cache-control': 'private, no-store' }).send();
    return;
  }
  await using opened = await files.open(file).catch((error: unknown) => {
    throw error instanceof FileRefused ? new NotFound('file_missing') : error;
  });
  served.bytes = await send(request, reply, file, opened);
}

/** The version that is asked for with `version`; undefined: it is not kept, or there never was one. */
function asked(newest: FileRecord, [version, ...more]: readonly string[]): FileRecord | undefined {
  if (version === undefined) return newest;
  return more.length > 0 ? undefined : versionsOf(newest).find((file) => String(versionOf(file)) === version);
}

function sessionOf({ secret }: ArtifactRouteOptions, { params }: Download): string {
  return isId(params.session) ? params.session : (openSession(secret, params.session) ?? params.session);
}

/** Throws unless the caller may have this artifact, if there is one. */
async function admit(
  { secret, sessions, records, uriScheme, stepUp }: ArtifactRouteOptions,
  request: Download,
  reply: FastifyReply,
  { sessionId, filename }: { sessionId: string; filename: string },
): Promise<Served['authMode']> {
  const { server: serverId, artifact: artifactId } = request.params;
  const uri = artifactUri(uriScheme, { sessionId, fileId: artifactId, filename });
  const query = queryOf(request);
  const state = verifyDownload(secret, { serverId, sessionId, artifactId, filename }, query, records.now());
  if (state === 'valid') {
    admitSigned(request);
    return 'signed_url';
  }
  const refused = state === 'absent' ? undefined : new AdapterError('download_url_invalid', EXPIRED[state]);
  if (request.refusal !== undefined) throw refused ?? request.refusal;
  // Rules may be about the name; without it, they are asked once it is known, and that the file is the caller's.
  if (filename !== '') admitFiles(request, reply, downloadOf(uri), stepUp);
  const own = request.headers['mcp-session-id'] ?? query.get('session_id') ?? undefined;
  if (own === undefined) throw refused ?? new AdapterError('missing_session');
  if (own !== sessionId) throw new NotFound('session_mismatch');
  try {
    await sessions.find(serverId, sessionId, request.principal);
  } catch (error) {
    const isGone = error instanceof AdapterError && error.status === 404;
    throw isGone ? new NotFound('not_found') : error;
  }
  return 'session_context';
}

/** Returns how many bytes of the file have left. */
async function send(request: Download, reply: FastifyReply, file: FileRecord, opened: OpenedFile): Promise<number> {
  const { size, modifiedAt } = opened;
  const etag = `"${file.contentId ?? file.fileId}-${size.toString(16)}-${Math.floor(modifiedAt).toString(16)}"`;
  if (request.method === 'HEAD') {
    sendHead(request, reply, file, { size, modifiedAt, etag });
    return 0;
  }
  const lastModified = new Date(modifiedAt).toUTCString();
  const range = byteRange(request.headers, size, { etag, lastModified });
  if (range.kind === 'unsatisfiable') {
    void reply.header('content-range', `bytes */${size}`);
    throw new AdapterError('range_not_satisfiable');
  }
  const { start, end } = range.kind === 'part' ? range : { start: 0, end: size - 1 };
  const headers = {
    ...headersOf(request, file, { modifiedAt, etag }),
    ...(range.kind === 'part' ? { 'content-range': `bytes ${start}-${end}/${size}` } : {}),
  };
  reply.hijack();
  request.attributes.outcome = 'ok';
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  const bytes = end - start + 1;
  const answer = { bytes, parts: opened.read({ start, end, signal: gone.signal }), releasable: true };
  try {
    const isSent = await streamAnswer(reply.raw, range.kind === 'part' ? 206 : 200, headers, answer);
    if (isSent) return bytes;
    request.attributes.outcome = 'client_closed';
  } catch (error) {
    // The connection is gone already; there is nobody to be told.
    request.attributes.outcome = gone.signal.aborted ? 'client_closed' : 'internal';
    if (!(error instanceof FileRefused) && request.attributes.outcome === 'internal') throw error;
  }
  return 0;
}

/** What is said of the bytes: `etag` only where they come from here. */
interface About {
  readonly size: number;
  readonly modifiedAt: number;
  readonly etag?: string;
}

function sendHead(request: Download, reply: FastifyReply, file: FileRecord, about: About): void {
  reply.hijack();
  request.attributes.outcome = 'ok';
  reply.raw.writeHead(200, { ...headersOf(request, file, about), 'content-length': about.size }).end();
}

function headersOf(request: Download, file: FileRecord, about: Omit<About, 'size'>): Record<string, string> {
  const { modifiedAt, etag } = about;
  return {
    'content-type': contentType(file.mimeType),
    'content-disposition': contentDisposition('attachment', file.filename),
    'x-content-type-options': 'nosniff',
    'content-security-policy': 'sandbox',
    'cache-control': 'private, no-store',
    'accept-ranges': 'bytes',
    ...(etag === undefined ? {} : { etag }),
    'last-modified': new Date(modifiedAt).toUTCString(),
    'x-request-id': request.attributes.requestId,
  };
}

/** The same to every caller; what was missing is for telemetry only. */
class NotFound extends AdapterError {
  readonly why: DownloadObservation['result'];

  constructor(why: DownloadObservation['result']) {
    super('artifact_not_found');
    this.why = why;
  }
}

const queryOf = (request: FastifyRequest): URLSearchParams => {
  const at = request.url.indexOf('?');
  return new URLSearchParams(at === -1 ? '' : request.url.slice(at + 1));
};

const isSigned = (request: FastifyRequest): boolean => queryOf(request).has('mcp_artifact_sig');
