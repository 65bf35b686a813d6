import { setTimeout as delay } from 'node:timers/promises';

import { openText, sealText } from '../../sealed-text.ts';
import type { FileKey, FileRecord, FileRecords } from '../../state/file-records.ts';

/** The parameter of the status that the page of an upload asks for. */
export const STATUS = 'mcp_upload_status';
/** What the page knows already: a letter for each file. */
export const SEEN = 'seen';

/** `w`: nobody has taken the file yet; `t`: a tool has had it; `g`: it is gone. */
type State = 'w' | 't' | 'g';

interface Watched {
  readonly serverId: string;
  readonly sessionId: string;
  readonly fileIds: readonly string[];
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface UploadStatusOptions {
  readonly secret: string;
  readonly records: Pick<FileRecords, 'find' | 'use'>;
  /** `uploads.ttl_seconds`, in milliseconds. */
  readonly uploadTtlMs: number | null;
  /** How long a page may ask, in milliseconds. */
  readonly statusTtlMs: number;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** How long a question waits for news, in milliseconds. Default: 20 s. */
  readonly statusWaitMs?: number;
}

const PURPOSE = 'status of an upload';
const WAIT_MS = 20_000;
const LOOK_MS = 1_000;
/** Waiting costs a look each second; pages that come on top are answered at once and ask again later. */
const MAX_WAITING = 64;
/** A token of as many files as an upload may have is shorter. */
const MAX_CHARS = 8_192;

/** Tells the page of an upload whether tools have taken its files. Any replica can: the token says which files. */
export class UploadStatus {
  readonly #options: UploadStatusOptions;
  #waiting = 0;

  constructor(options: UploadStatusOptions) {
    this.#options = options;
  }

  /** The query, with `?`, by which the page asks. */
  query(files: readonly FileRecord[]): string | undefined {
    const [first] = files;
    if (first === undefined) return undefined;
    const { serverId, sessionId } = first;
    const { secret, statusTtlMs, clock } = this.#options;
    const expiresAt = clock() + statusTtlMs;
    const watched: Watched = { serverId, sessionId, fileIds: files.map(({ fileId }) => fileId), expiresAt };
    return `?${STATUS}=${sealText(secret, PURPOSE, JSON.stringify(watched))}`;
  }

  /** A letter for each file, as soon as it differs from `seen`. Undefined: the token is not valid, or no more. */
  async next(
    serverId: string,
    token: string,
    seen: string | null,
    { signal, mayWait }: { readonly signal: AbortSignal; readonly mayWait: () => boolean },
  ): Promise<string | undefined> {
    const { secret, clock, statusWaitMs = WAIT_MS } = this.#options;
    const text = token.length > MAX_CHARS ? undefined : openText(secret, PURPOSE, token);
    if (text === undefined) return undefined;
    const watched = JSON.parse(text) as Watched;
    if (watched.serverId !== serverId || watched.expiresAt < clock()) return undefined;
    const until = Math.min(clock() + statusWaitMs, watched.expiresAt);
    const waits = this.#waiting < MAX_WAITING;
    if (waits) this.#waiting++;
    try {
      for (;;) {
        const states = await this.#states(watched);
        if (states !== seen || !waits || !mayWait() || signal.aborted || clock() >= until) return states;
        await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
      }
    } finally {
      if (waits) this.#waiting--;
    }
  }

  async #states({ serverId, sessionId, fileIds }: Watched): Promise<string> {
    const { records, uploadTtlMs: ttlMs, clock } = this.#options;
    const now = clock();
    const keys = fileIds.map((fileId): FileKey => ({ serverId, sessionId, kind: 'upload', fileId }));
    const files = await Promise.all(keys.map((key) => records.find(key, { now, ttlMs })));
    return files.map(stateOf).join('');
  }
}

function stateOf(file: FileRecord | undefined): State {
  if (file === undefined) return 'g';
  return file.lastUsedAt === file.createdAt ? 'w' : 't';
}
