import type { Readable } from 'node:stream';

import { AdapterError } from '../../errors.ts';
import { InProgress } from '../../exchange/in-progress.ts';
import type { FileRecord } from '../../state/file-records.ts';
import type { SessionKey } from '../../state/state-store.ts';
import { UploadBatch, type UploadDeps } from './upload-batch.ts';
import { readForm } from './upload-form.ts';
import { checkHashes } from './upload-hashes.ts';

export interface UploadsOptions extends UploadDeps {
  /** `uploads.require_sha256`. */
  readonly requireSha256: boolean;
  /** How often leases and sessions are renewed, in milliseconds; well within both. Default: 20 s. */
  readonly renewMs?: number;
}

/** One request with files for a session that exists. */
export interface UploadRequest extends SessionKey {
  readonly body: Readable;
  readonly contentType: string;
  /** The tool that the files are for, null for any. */
  readonly toolName: string | null;
  /** Called now and then while the upload goes on. */
  readonly keepSession: () => Promise<unknown>;
  /** Ends when the client goes away; its reason is what `receive` fails with. */
  readonly signal: AbortSignal;
}

/** Files for a session that exists, which somebody has sent with something else. */
export interface StageRequest extends Pick<
  UploadRequest,
  'serverId' | 'sessionId' | 'toolName' | 'keepSession' | 'signal'
> {
  readonly files: readonly { readonly filename: string; readonly mimeType: string; readonly bytes: Buffer }[];
}

/** Well within the lease, so that one failure does no harm. */
const RENEW_MS = 20_000;

/** Receives the files of clients: streamed to the disk, checked, and then all of a request's files at once or none. */
export class Uploads {
  readonly #options: UploadsOptions;
  readonly #running = new Map<AbortController, SessionKey>();
  readonly #inProgress = new InProgress();
  #closed = false;

  constructor(options: UploadsOptions) {
    this.#options = options;
  }

  /**
   * Reads the body and stores its files. Fails with an AdapterError after which nothing of it is left; the rest of the
   * body is unread then.
   */
  receive(request: UploadRequest): Promise<readonly FileRecord[]> {
    return this.#keep(request, async (batch, signal) => {
      const hashes: string[] = [];
      const handlers = {
        file: batch.add.bind(batch),
        field: (name: string, value: string) => {
          if (name === 'sha256' && value.trim() !== '') hashes.push(value.trim());
        },
      };
      await readForm(request.body, request.contentType, handlers, signal);
      checkHashes(batch.records, hashes, this.#options.requireSha256);
    });
  }

  /** Stores files that are in memory already; fails as `receive`. */
  stage(request: StageRequest): Promise<readonly FileRecord[]> {
    return this.#keep(request, async (batch) => {
      for (const { filename, mimeType, bytes } of request.files) {
        // oxlint-disable-next-line no-await-in-loop -- they share a buffer
        await batch.add({ filename, mimeType, content: [bytes] });
      }
    });
  }

  async #keep(
    request: Pick<UploadRequest, 'serverId' | 'sessionId' | 'toolName' | 'keepSession' | 'signal'>,
    read: (batch: UploadBatch, signal: AbortSignal) => Promise<void>,
  ): Promise<readonly FileRecord[]> {
    if (this.#closed) throw new AdapterError('draining');
    const stop = new AbortController();
    this.#start(stop, request);
    const batch = new UploadBatch(this.#options, keyOf(request), request.toolName);
    const signal = AbortSignal.any([request.signal, stop.signal]);
    const renewing = setInterval(() => {
      // A failure shows when the files are committed.
      batch.keepAlive().catch(() => undefined);
      request.keepSession().catch(() => undefined);
    }, this.#options.renewMs ?? RENEW_MS);
    try {
      await read(batch, signal);
      await batch.secure(signal);
      signal.throwIfAborted();
      return await batch.commit();
    } catch (error) {
      throw await batch.discard(error);
    } finally {
      clearInterval(renewing);
      batch.close();
      this.#end(stop);
    }
  }

  /** The session is gone: its uploads need not go on. */
  sessionEnded(serverId: string, sessionId: string): void {
    for (const [stop, key] of this.#running) {
      if (key.serverId === serverId && key.sessionId === sessionId) stop.abort(new AdapterError('session_ended'));
    }
  }

  /** No more are taken: `receive` would fail at once. */
  get closed(): boolean {
    return this.#closed;
  }

  /** How many are under way. */
  get running(): number {
    return this.#running.size;
  }

  /** Resolves when no upload is under way, or when `signal` ends. */
  idle(signal: AbortSignal): Promise<void> {
    return this.#inProgress.idle(signal);
  }

  /** Gives up what is still under way and waits until nothing of it is left. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const stop of this.#running.keys()) stop.abort(new AdapterError('draining'));
    await this.#inProgress.idle();
  }

  #start(stop: AbortController, request: SessionKey): void {
    this.#inProgress.enter();
    this.#running.set(stop, keyOf(request));
  }

  #end(stop: AbortController): void {
    this.#running.delete(stop);
    this.#inProgress.leave();
  }
}

function keyOf({ serverId, sessionId }: SessionKey): SessionKey {
  return { serverId, sessionId };
}
