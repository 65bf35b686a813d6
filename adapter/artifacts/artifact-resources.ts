import type { Artifacts } from '../../crds/config/adapter-file/artifacts.ts';
import type { Answer } from '../exchange/answers/answer.ts';
import type { FileStore } from '../files/store/file-store.ts';
import { FileRefused } from '../files/keys/file-key.ts';
import type { FileRecord, FileRecords } from '../state/file-records.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { contentForm, fileContent } from './artifact-content.ts';
import { artifactUri, isArtifactUri, parseArtifactUri } from './artifact-uri.ts';
import type { OwnResources } from '../lists/own-resources.ts';

export interface ArtifactResourcesOptions {
  readonly serverId: string;
  readonly artifacts: Pick<Artifacts, 'uri_scheme' | 'ttl_seconds'>;
  readonly records: Pick<FileRecords, 'list' | 'use' | 'now'>;
  readonly files: Pick<FileStore, 'open'>;
}

/**
 * The artifacts of a session as MCP resources (specification 2.7). Undefined where there are none: artifacts, or their
 * exposure, are off.
 */
export function artifactResources(
  options: Omit<ArtifactResourcesOptions, 'artifacts'> & {
    readonly artifacts: Artifacts;
    /** Whether any producer's artifacts are offered. */
    readonly exposes: boolean;
  },
): OwnResources | undefined {
  const { artifacts } = options;
  return artifacts.enabled && options.exposes ? new ArtifactResources(options) : undefined;
}

class ArtifactResources implements OwnResources {
  readonly #options: ArtifactResourcesOptions;
  readonly #scheme: string;
  readonly #ttlMs: number | null;

  constructor(options: ArtifactResourcesOptions) {
    this.#options = options;
    this.#scheme = options.artifacts.uri_scheme;
    const { ttl_seconds: ttl } = options.artifacts;
    this.#ttlMs = ttl === null ? null : ttl * 1000;
  }

  async list({ sessionId }: SessionRecord): Promise<string[]> {
    const { records, serverId } = this.#options;
    const times = { now: records.now(), ttlMs: this.#ttlMs };
    const files = await records.list({ serverId, sessionId }, 'artifact', times);
    return files.filter(({ exposed }) => exposed).map((file) => this.#resource(file));
  }

  owns(uri: string): boolean {
    return isArtifactUri(this.#scheme, uri);
  }

  /** Reading is a use: the time until it expires begins anew. What belongs to another session is not there. */
  async read({ sessionId }: Pick<SessionRecord, 'sessionId'>, uri: string): Promise<Answer | undefined> {
    const { records, files, serverId } = this.#options;
    const named = parseArtifactUri(this.#scheme, uri);
    if (named === undefined || named.sessionId !== sessionId) return undefined;
    const key = { serverId, sessionId, kind: 'artifact', fileId: named.fileId } as const;
    const file = await records.use(key, { now: records.now(), ttlMs: this.#ttlMs });
    if (file === undefined || !file.exposed || file.filename !== named.filename) return undefined;
    try {
      const opened = await files.open(file);
      // What was a text in a result is one here too, JSON for example.
      const as = await contentForm(opened, file.spilled === true ? 'text/plain' : file.mimeType);
      const content = JSON.stringify({ uri, mimeType: file.mimeType }).slice(1, -1);
      return fileContent(opened, as, `{"contents":[{${content},"${as}":"`, '"}]}');
    } catch (error) {
      if (error instanceof FileRefused) return undefined;
      throw error;
    }
  }

  #resource(file: FileRecord): string {
    const { filename, mimeType, sizeBytes, toolName } = file;
    return JSON.stringify({
      uri: artifactUri(this.#scheme, file),
      name: filename,
      description: `File that the tool ${toolName ?? ''} produced`,
      mimeType,
      size: sizeBytes,
      _meta: { size_bytes: sizeBytes },
    });
  }
}
