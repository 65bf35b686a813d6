import { parseArtifactUri } from '../artifacts/artifact-uri.ts';
import { downloadOf } from '../access/wishes.ts';
import { mayUse } from '../sessions/file-use.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import type { FileKey, FileRecord, FileRecords } from '../state/file-records.ts';
import type { ToolCall } from '../tools/visible/tool-step.ts';
import { parseHandle } from '../uploads/upload-handle.ts';

export interface HandleOptions {
  readonly serverId: string;
  /** `uploads.uri_scheme` and `artifacts.uri_scheme` */
  readonly uploadScheme: string;
  readonly artifactScheme: string;
  /** Milliseconds; null: never. */
  readonly uploadTtlMs: number | null;
  readonly artifactTtlMs: number | null;
  readonly records: Pick<FileRecords, 'use' | 'find' | 'ownerOf' | 'now'>;
  readonly sessions: Pick<SessionRegistry, 'touch'>;
  /** `artifacts.scope` */
  readonly scope: 'session' | 'principal';
  /**
   * Whether the files of another server may be used at this one. Not where that server has access rules: what they allow of
   * its files is asked there only.
   */
  readonly shares: (serverId: string) => boolean;
}

/** What handles of files mean to whoever passes them to a tool. */
export class Handles {
  readonly #options: HandleOptions;

  constructor(options: HandleOptions) {
    this.#options = options;
  }

  /** Whether a text looks like a handle, of a file that is there or not. */
  isHandle(text: string): boolean {
    const { uploadScheme, artifactScheme } = this.#options;
    return text.startsWith(uploadScheme) || text.startsWith(artifactScheme);
  }

  /**
   * The file that a handle stands for, taken into use until `leaseUntil` or `release`. An upload that was edited is the
   * artifact that it has become. Undefined: it is unknown, has expired, or is somebody else's; nobody learns which.
   */
  async take(call: ToolCall, handle: string, leaseUntil: number): Promise<FileRecord | undefined> {
    const { uploadScheme, artifactScheme, serverId } = this.#options;
    const upload = parseHandle(handle, uploadScheme);
    const artifact = upload === undefined ? parseArtifactUri(artifactScheme, handle) : undefined;
    const named = upload ?? artifact;
    if (named === undefined) return undefined;
    if (artifact !== undefined && call.caller.access?.allows(downloadOf(handle)) === false) return undefined;
    const { sessionId, fileId } = named;
    const owner = sessionId === call.record.sessionId ? serverId : await this.#options.records.ownerOf(sessionId);
    if (owner === undefined || (owner !== serverId && !this.#options.shares(owner))) return undefined;
    const { scope, sessions } = this.#options;
    if (!(await mayUse(sessions, { ...call.record, serverId: owner }, sessionId, scope))) return undefined;
    const key = { serverId: owner, sessionId, fileId };
    const made = await this.#use({ ...key, kind: 'artifact' }, leaseUntil);
    if (made !== undefined) return artifact === undefined || made.filename === artifact.filename ? made : undefined;
    return artifact === undefined ? this.#use({ ...key, kind: 'upload' }, leaseUntil) : undefined;
  }

  #use(key: FileKey, leaseUntil: number): Promise<FileRecord | undefined> {
    const { records, uploadTtlMs, artifactTtlMs } = this.#options;
    const ttlMs = key.kind === 'upload' ? uploadTtlMs : artifactTtlMs;
    return records.use(key, { now: records.now(), ttlMs, leaseUntil });
  }
}
