import type { ArtifactProducer } from '../../crds/config/adapter-file/entry.ts';
import type { Artifacts } from '../../crds/config/adapter-file/artifacts.ts';
import type { FileStore } from '../files/store/file-store.ts';
import type { Locks } from '../files/locks/locks.ts';
import type { Quotas } from '../files/store/quotas.ts';
import type { FileRecord, FileRecords } from '../state/file-records.ts';
import type { SessionKey, StateStore } from '../state/state-store.ts';
import type { AdapterError } from '../errors.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { locateOutput } from './locate-output.ts';
import type { ToolCall } from '../tools/visible/tool-step.ts';

/** What the producers of one server share. */
export interface ProducerOptions {
  readonly serverId: string;
  readonly artifacts: Artifacts;
  /** `tool_defaults.allow_raw_output` of the server, `core.defaults` resolved. */
  readonly allowRawOutput: boolean;
  readonly records: FileRecords;
  readonly files: FileStore;
  readonly quotas: Quotas;
  readonly locks: Locks;
  readonly telemetry: Pick<Telemetry, 'artifact' | 'artifactFailed'>;
  /** Makes the URL by which an artifact can be downloaded; undefined without `core.allow_artifacts_download`. */
  readonly downloadUrl: ((file: FileRecord, call: Pick<CapturedCall, 'caller'>) => Promise<string>) | undefined;
  /** Tells the session that its list of resources has changed. Must not fail. */
  readonly onListChanged: (session: SessionKey) => void;
  readonly warn: (message: string) => void;
  /** Where calls are kept that go on without their reply. */
  readonly locksOfCalls: Pick<StateStore, 'tryLock' | 'unlock' | 'lockHolder'>;
  /** Any failure as the error to answer with; what is unexpected is logged there. */
  readonly known: (error: unknown) => AdapterError;
}

/** What is the same for all calls of an entry's tools. */
export interface ProducerSettings {
  readonly locate: ReturnType<typeof locateOutput>;
  readonly mode: ArtifactProducer['output_locator']['mode'];
  readonly exposed: boolean;
  readonly rawOutput: boolean;
}

/** The call that a file belongs to, as far as that needs it. */
export type CapturedCall = Pick<ToolCall, 'caller' | 'record' | 'timeoutMs'>;
