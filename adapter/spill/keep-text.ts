import type { Artifacts } from '../../crds/config/adapter-file/artifacts.ts';
import { artifactUri } from '../artifacts/artifact-uri.ts';
import type { TextOutput } from '../artifacts/find-output.ts';
import { keepArtifact, type Keeping } from '../artifacts/keep-artifact.ts';
import { AdapterError } from '../errors.ts';
import type { FileStore } from '../files/store/file-store.ts';
import type { Quotas } from '../files/store/quotas.ts';
import { newSessionId } from '../sessions/session-registry.ts';
import type { FileRecord, FileRecords } from '../state/file-records.ts';
import type { SessionKey } from '../state/state-store.ts';
import { leaseUntil } from '../uploads/file-use.ts';

/** How long a text may take to get to its place; what is not kept by then passes as it was. In milliseconds. */
const KEEPING_MS = 45_000;
const UNNAMED = 'result';

export interface TextKeeperOptions extends Pick<Keeping, 'locks'> {
  readonly serverId: string;
  readonly artifacts: Pick<Artifacts, 'expose_as_resources' | 'max_per_session' | 'uri_scheme'>;
  readonly records: FileRecords;
  readonly files: FileStore;
  readonly quotas: Quotas;
}

/** A text as an artifact, and its URI. */
export interface KeptText {
  readonly file: FileRecord;
  readonly uri: string;
}

/** Makes artifacts of texts that are too long for a result. Every method fails with AdapterError or StorageFault. */
export class TextKeeper {
  readonly #options: TextKeeperOptions;

  constructor(options: TextKeeperOptions) {
    this.#options = options;
  }

  async keep(
    session: SessionKey,
    tool: string,
    text: Omit<TextOutput, 'kind' | 'name'>,
    signal: AbortSignal,
  ): Promise<KeptText> {
    const { records, artifacts } = this.#options;
    const name = `${UNNAMED}.${text.mimeType === 'application/json' ? 'json' : 'txt'}`;
    const pending = await this.#begin(session, tool, name, artifacts.max_per_session);
    try {
      const file = await keepArtifact(
        this.#options,
        pending,
        { kind: 'text', name, ...text },
        {
          wasGiven: false,
          now: () => records.now(),
          leaseUntil: () => leaseUntil(records.now(), KEEPING_MS),
          signal: AbortSignal.any([signal, AbortSignal.timeout(KEEPING_MS)]),
        },
      );
      return { file, uri: artifactUri(artifacts.uri_scheme, file) };
    } catch (error) {
      await this.drop(pending);
      throw error;
    }
  }

  /** A pending file whose bytes lie elsewhere, so that they are counted by the quotas. */
  async hold(session: SessionKey, tool: string): Promise<FileRecord> {
    return this.#begin(session, tool, UNNAMED, null);
  }

  /** Counts so many bytes for a pending file. */
  async count(pending: FileRecord, bytes: number): Promise<void> {
    const { quotas, records } = this.#options;
    await quotas.reserve(pending, bytes, leaseUntil(records.now(), KEEPING_MS));
  }

  /** Never fails: what is left of it has a lease that ends. */
  async drop(file: FileRecord): Promise<void> {
    const { records, files } = this.#options;
    try {
      const removed = await records.remove(file);
      if (removed !== undefined) await files.discard([removed], 'failed');
    } catch {
      // See above.
    }
  }

  async #begin(
    { sessionId, serverId }: SessionKey,
    tool: string,
    filename: string,
    maxArtifacts: number | null,
  ): Promise<FileRecord> {
    const { records, artifacts } = this.#options;
    const now = records.now();
    const pending: FileRecord = {
      serverId,
      sessionId,
      kind: 'artifact',
      fileId: newSessionId(),
      state: 'pending',
      filename,
      mimeType: 'text/plain',
      sizeBytes: 0,
      sha256: null,
      toolName: tool,
      exposed: artifacts.expose_as_resources,
      spilled: true,
      createdAt: now,
      lastUsedAt: now,
      leaseUntil: leaseUntil(now, KEEPING_MS),
    };
    const begun = await records.begin([pending], { now, maxArtifacts });
    if (begun === 'no_session') throw new AdapterError('session_ended');
    if (begun !== 'begun') throw new AdapterError(begun === 'limit' ? 'artifact_limit' : 'session_quota');
    return pending;
  }
}
