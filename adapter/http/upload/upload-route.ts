import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';

import { UPLOAD } from '../../access/wishes.ts';
import { AdapterError, type ErrorCode, httpErrorText } from '../../errors.ts';
import { readUploadQuery, uploadQueryProblem, verifyUpload } from '../../files/urls/signed-url.ts';
import { isMultipart } from '../../files/uploads/upload-form.ts';
import type { Uploads } from '../../files/uploads/uploads.ts';
import type { SessionRegistry } from '../../sessions/session-registry.ts';
import type { FileRecord } from '../../state/file-records.ts';
import type { UploadNonces, UploadPermission } from '../../state/upload-nonces.ts';
import { CREDENTIAL_BACKEND, uploadFailure } from '../../telemetry/outcome-labels.ts';
import type { Backend, CredentialObservation, Telemetry } from '../../telemetry/telemetry.ts';
import { admitFiles, admitSigned, type StepUp } from '../auth.ts';
import { answerEarly, readSlowly } from '../large-body.ts';
import { keepAsked } from './keep-asked.ts';
import { used, useOnce } from './single-use.ts';
import { PAGE_HEADERS, refusedPage, uploadedPage, uploadPage } from './upload-page.ts';
import { uploadAnswer } from './upload-answer.ts';
import { SEEN, STATUS, UploadStatus, type UploadStatusOptions } from './upload-status.ts';

export interface UploadRouteOptions extends UploadStatusOptions {
  /** `core.upload_path`. */
  readonly path: string;
  /** `uploads.enabled`. */
  readonly enabled: boolean;
  /** Ids of the mounted servers. */
  readonly servers: ReadonlySet<string>;
  /** `core.auth.enabled`: then `refusal` is missing only for requests with the token. */
  readonly authEnabled: boolean;
  /** Signs and checks upload URLs, and seals what pages ask with. */
  readonly secret: string;
  readonly nonces: UploadNonces;
  readonly stepUp: StepUp;
  readonly sessions: Pick<SessionRegistry, 'touch'>;
  readonly uploads: Pick<Uploads, 'receive' | 'closed'>;
  readonly uriScheme: string;
  readonly maxFileBytes: number;
  readonly requireSha256: boolean;
  /** Called after each upload that succeeded. Must not fail. */
  readonly onUploaded: (done: Uploaded) => void;
  readonly telemetry: Pick<Telemetry, 'uploadFailed' | 'credential'>;
  /** What keeps the nonces at this moment. */
  readonly backend: () => Backend;
  /** Any failure as the error to answer with. */
  readonly known: (error: unknown) => AdapterError;
}

export interface Uploaded {
  readonly serverId: string;
  readonly sessionId: string;
  readonly toolName: string | null;
  readonly elicitationId: string | null;
  readonly files: readonly FileRecord[];
}

/** For whom, and for what, an upload is. */
interface Access {
  readonly sessionId: string;
  readonly principal: string;
  readonly toolName: string | null;
  readonly elicitationId: string | null;
  readonly nonce: string | undefined;
  /** Of a signed URL, in milliseconds since the epoch. */
  readonly expiresAt: number | undefined;
}

const METHODS: HTTPMethods[] = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
const EXPIRED = 'The upload URL has expired; ask for a new one.';
const INVALID = 'The upload URL is not valid; ask for a new one.';

/**
 * `{upload_path}/{server_id}` (specification, section 4): POST takes files, GET of a signed URL shows a page for people.
 * Works whatever the state of the upstream, and takes the body out of fastify's hands.
 */
export function uploadRoute(app: FastifyInstance, options: UploadRouteOptions): void {
  const status = new UploadStatus(options);
  app.route({
    method: METHODS,
    url: `${options.path.replaceAll(':', '::')}/:server`,
    config: { decidesItself: true, routeGroup: `${options.path}/{server_id}` },
    // Here, and not in the handler: nothing must have begun to read the body.
    onRequest: (request, reply) => {
      reply.hijack();
      void new UploadExchange(options, status, request, reply).answer();
    },
    handler: () => undefined,
  });
}

class UploadExchange {
  readonly #options: UploadRouteOptions;
  readonly #status: UploadStatus;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #serverId: string;
  readonly #query: URLSearchParams;
  readonly #signed: ReturnType<typeof readUploadQuery>;
  readonly #session: string | undefined;

  constructor(options: UploadRouteOptions, status: UploadStatus, request: FastifyRequest, reply: FastifyReply) {
    this.#options = options;
    this.#status = status;
    this.#request = request;
    this.#reply = reply;
    const { server } = request.params as { server: string };
    this.#serverId = server;
    const query = request.url.indexOf('?');
    this.#query = new URLSearchParams(query === -1 ? '' : request.url.slice(query));
    this.#signed = readUploadQuery(this.#query);
    const session = request.headers['mcp-session-id'];
    this.#session = typeof session === 'string' && session !== '' ? session : undefined;
  }

  async answer(): Promise<void> {
    const { attributes, method } = this.#request;
    attributes.serverId = this.#serverId;
    try {
      if (method === 'POST') await this.#post();
      else if (method === 'GET') await this.#get();
      else this.#notAllowed('POST, GET');
      attributes.outcome = 'ok';
    } catch (error) {
      const known = this.#options.known(error);
      attributes.outcome = known.code;
      if (method === 'POST') this.#recordFailure(known.code);
      // A connection that fails now has nobody left to be told.
      await this.#refuse(known).catch(() => this.#reply.raw.destroy());
    }
  }

  async #post(): Promise<void> {
    const options = this.#options;
    const request = this.#request;
    this.#admitToServer();
    const contentType = request.headers['content-type'];
    if (!isMultipart(contentType)) {
      throw new AdapterError('invalid_multipart', 'The body must be multipart/form-data with a boundary.');
    }
    const access = await this.#access();
    const { sessionId, principal, toolName, elicitationId, nonce, expiresAt } = access;
    request.attributes.sessionId = sessionId;
    const touch = () => options.sessions.touch(this.#serverId, sessionId, principal);
    await touch();
    if (options.uploads.closed) throw new AdapterError('draining');
    const serverId = this.#serverId;
    const receive = (): Promise<readonly FileRecord[]> => {
      const gone = new AbortController();
      const onClose = (): void => gone.abort(new AdapterError('cancelled', 'The client has gone away.'));
      this.#reply.raw.once('close', onClose);
      const done = readSlowly(request.raw, this.#reply.raw);
      const { signal } = gone;
      const body = request.raw;
      return options.uploads
        .receive({ serverId, sessionId, body, contentType, toolName, keepSession: touch, signal })
        .finally(() => {
          this.#reply.raw.off('close', onClose);
          done();
        });
    };
    // The last step before the body: from here on the URL is used up.
    const files = nonce === undefined ? await receive() : await useOnce(nonce, options, receive);
    if (toolName !== null && expiresAt !== undefined) {
      await keepAsked(options.records, files, { until: expiresAt, ttlMs: options.uploadTtlMs });
    }
    options.onUploaded({ serverId, sessionId, toolName, elicitationId, files });
    const handle = (file: FileRecord): string => `${options.uriScheme}sessions/${file.sessionId}/${file.fileId}`;
    if (this.#wantsPage('text/html')) {
      const status = nonce === undefined ? undefined : this.#status.query(files);
      await this.#send(200, PAGE_HEADERS, uploadedPage({ serverId, toolName, files, handle, status }));
    } else {
      await this.#send(200, { 'content-type': 'application/json' }, uploadAnswer(serverId, sessionId, files, handle));
    }
  }

  async #get(): Promise<void> {
    const token = this.#query.get(STATUS);
    if (token !== null) return this.#reportStatus(token);
    if (this.#signed === 'absent') this.#notAllowed('POST');
    this.#admitToServer();
    const permission = await this.#permission();
    admitSigned(this.#request);
    const { maxFileBytes, requireSha256, clock } = this.#options;
    const { toolName, expiresAt } = permission;
    const page = uploadPage({
      serverId: this.#serverId,
      toolName,
      maxFileBytes,
      requireSha256,
      expiresAt,
      now: clock(),
    });
    await this.#send(200, PAGE_HEADERS, page);
  }

  /** For the page of an upload: whether its files were taken. Waits a while for news. */
  async #reportStatus(token: string): Promise<void> {
    const { uploads } = this.#options;
    const gone = new AbortController();
    const onClose = (): void => gone.abort();
    this.#reply.raw.once('close', onClose);
    admitSigned(this.#request);
    try {
      const how = { signal: gone.signal, mayWait: () => !uploads.closed };
      const files = await this.#status.next(this.#serverId, token, this.#query.get(SEEN), how);
      if (files === undefined) throw new AdapterError('upload_url_invalid', INVALID);
      await this.#send(200, { 'content-type': 'application/json' }, JSON.stringify({ files }));
    } finally {
      this.#reply.raw.off('close', onClose);
    }
  }

  /** Who has neither token nor signature learns nothing, not even which servers there are. */
  #admitToServer(): void {
    const { refusal } = this.#request;
    if (this.#signed === 'absent' && refusal !== undefined) throw refusal;
    if (!this.#options.servers.has(this.#serverId)) {
      throw refusal === undefined
        ? new AdapterError('unknown_server')
        : new AdapterError('upload_url_invalid', INVALID);
    }
    if (!this.#options.enabled) throw new AdapterError('uploads_disabled');
  }

  /** By a valid signature, or by the token (where one is asked for) and the session's header. */
  async #access(): Promise<Access> {
    const { refusal, principal } = this.#request;
    if (this.#signed !== 'absent') {
      try {
        const permission = await this.#permission();
        admitSigned(this.#request);
        return { ...permission, nonce: this.#signed === 'invalid' ? undefined : this.#signed.nonce };
      } catch (error) {
        const tokenWillDo = this.#options.authEnabled && refusal === undefined && this.#session !== undefined;
        if (!tokenWillDo || !(error instanceof AdapterError && error.code === 'upload_url_invalid')) throw error;
      }
    }
    if (refusal !== undefined) throw refusal;
    admitFiles(this.#request, this.#reply, UPLOAD, this.#options.stepUp);
    if (this.#session === undefined) throw new AdapterError('missing_session');
    return {
      sessionId: this.#session,
      principal,
      toolName: null,
      elicitationId: null,
      nonce: undefined,
      expiresAt: undefined,
    };
  }

  /** What a signed URL permits; uses nothing up. Fails with `upload_url_invalid`. */
  async #permission(): Promise<UploadPermission> {
    const { secret, nonces, clock } = this.#options;
    const signed = this.#signed;
    const now = clock();
    if (signed === 'absent' || signed === 'invalid') {
      throw this.#invalid(uploadQueryProblem(this.#query));
    }
    // Its nonce has expired with it, so whether it was ever valid cannot be said any more.
    if (Number(signed.exp) < Math.floor(now / 1000)) throw this.#invalid('expired');
    const permission = await nonces.find(signed.nonce, now).catch((error: unknown) => {
      this.#request.attributes.reason = CREDENTIAL_BACKEND;
      throw error;
    });
    const sessionId = permission?.sessionId ?? this.#session;
    const claim = { serverId: this.#serverId, sessionId: sessionId ?? '' };
    const isSigned = sessionId === undefined || verifyUpload(secret, claim, signed, now) === 'valid';
    const isTheirs = this.#session === undefined || this.#session === sessionId;
    if (!isSigned || !isTheirs) throw this.#invalid('bad_signature');
    if (permission === undefined) throw this.#invalid('replay_or_invalid');
    this.#recordCredential('accepted');
    return permission;
  }

  #invalid(why: CredentialObservation['result']): AdapterError {
    this.#recordCredential(why);
    if (why === 'replay_or_invalid') return used();
    return new AdapterError('upload_url_invalid', why === 'expired' ? EXPIRED : INVALID);
  }

  #recordCredential(result: CredentialObservation['result']): void {
    const { telemetry, backend } = this.#options;
    telemetry.credential({ serverId: this.#serverId, operation: 'validate', result, backend: backend() });
  }

  #recordFailure(code: ErrorCode): void {
    // Then nothing was uploaded yet: it is the request that was refused.
    if (this.#request.attributes.reason === CREDENTIAL_BACKEND) return;
    const reason = uploadFailure(code);
    if (reason !== undefined) this.#options.telemetry.uploadFailed({ serverId: this.#serverId, reason });
  }

  #notAllowed(allow: string): never {
    if (this.#request.refusal !== undefined) throw this.#request.refusal;
    this.#reply.raw.setHeader('allow', allow);
    throw new AdapterError('method_not_allowed');
  }

  async #refuse(error: AdapterError): Promise<void> {
    const { method } = this.#request;
    if (error.retryAfter !== undefined) this.#reply.raw.setHeader('retry-after', String(error.retryAfter));
    const asPage =
      method === 'GET'
        ? this.#signed !== 'absent' && !this.#wantsPage('application/json')
        : this.#wantsPage('text/html');
    if (asPage) await this.#send(error.status, PAGE_HEADERS, refusedPage(error));
    else
      await this.#send(error.status, { 'content-type': 'application/json' }, httpErrorText(error.code, error.message));
  }

  /** Whether the client says that it takes this type. Forms of pages say text/html, programs rarely. */
  #wantsPage(type: string): boolean {
    return this.#request.headers.accept?.includes(type) === true;
  }

  async #send(status: number, headers: Readonly<Record<string, string>>, body: string): Promise<void> {
    const { requestId } = this.#request.attributes;
    const all = { 'cache-control': 'no-store', ...headers, 'x-request-id': requestId };
    await answerEarly(this.#request.raw, this.#reply.raw, status, all, body);
  }
}
