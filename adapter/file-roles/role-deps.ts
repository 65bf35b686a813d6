import type { Artifacts } from '../../crds/config/adapter-file/artifacts.ts';
import type { AdapterError } from '../errors.ts';
import type { FileStore } from '../files/store/file-store.ts';
import type { Locks } from '../files/locks/locks.ts';
import type { Quotas } from '../files/store/quotas.ts';
import type { FileRecord, FileRecords } from '../state/file-records.ts';
import type { SessionKey, StateStore } from '../state/state-store.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { ToolCall } from '../tools/visible/tool-step.ts';
import type { ToolSchemas } from '../tools/visible/tool-schemas.ts';
import type { Handles } from './handles.ts';
import type { ReadCopies } from './read-copies.ts';

/** What the calls of tools with roles work with; one for each server. */
export interface RoleDeps {
  readonly serverId: string;
  readonly artifacts: Artifacts;
  /** `files.versions` */
  readonly keptVersions: number;
  /** How long a presigned URL can be used that is passed to a tool. */
  readonly urlTtlSeconds: number;
  readonly handles: Handles;
  readonly records: FileRecords;
  readonly files: FileStore;
  readonly quotas: Quotas;
  readonly readCopies: ReadCopies;
  readonly locks: Locks;
  /** Who changes a file, over all replicas. */
  readonly edits: Pick<StateStore, 'tryLock' | 'unlock' | 'lockHolder' | 'now'>;
  readonly schemas: Pick<ToolSchemas, 'of'>;
  readonly telemetry: Pick<Telemetry, 'artifact' | 'artifactFailed'>;
  /** Makes the URL by which an artifact can be downloaded; undefined without `core.allow_artifacts_download`. */
  readonly downloadUrl: ((file: FileRecord, call: Pick<ToolCall, 'caller'>) => Promise<string>) | undefined;
  /** Tells a session that its list of resources has changed. Must not fail. */
  readonly onListChanged: (session: SessionKey) => void;
  readonly warn: (message: string) => void;
  /** Any failure as the error to answer with; what is unexpected is logged there. */
  readonly known: (error: unknown) => AdapterError;
}
