import type { AdapterConfig } from '../../crds/config/adapter-file/adapter.ts';
import { type EffectiveServer, effectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import { chooseLocks } from '../files/locks/choose-locks.ts';
import { DiskStagingArea } from '../files/disk/disk-staging-area.ts';
import type { FileTimes } from '../files/store/expire-files.ts';
import { FileStore } from '../files/store/file-store.ts';
import type { Locks } from '../files/locks/locks.ts';
import { openBlobStore } from '../files/s3/open-blob-store.ts';
import { Quotas } from '../files/store/quotas.ts';
import type { BlobStore } from '../files/s3/blob-store.ts';
import { Uploads } from '../files/uploads/uploads.ts';
import { spillSettings } from '../spill/spill-settings.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

/** Everything that holds bytes of files. */
export interface OpenedFiles {
  readonly files: FileStore;
  readonly quotas: Quotas;
  readonly locks: Locks;
  readonly blobStore: BlobStore | undefined;
  readonly uploads: Uploads;
  close(): Promise<void>;
}

/** As often, or more often, a session is kept while an upload of it goes on. */
const MAX_RENEW_MS = 20_000;

/** Whether anything is configured that stores files; only then the folder has to be there. */
export function storesFiles({ core, uploads, artifacts, servers }: AdapterConfig): boolean {
  const keeps = ({ adapters, results }: EffectiveServer): boolean =>
    adapters.some((entry) => (entry.type === 'artifact_producer' && entry.persist) || entry.type === 'files') ||
    spillSettings(results) !== undefined;
  return uploads.enabled || (artifacts.enabled && servers.some((one) => keeps(effectiveServer({ core }, one))));
}

export const fileTimes = ({ uploads, artifacts }: Pick<AdapterConfig, 'uploads' | 'artifacts'>): FileTimes => ({
  uploadTtlMs: toMs(uploads.ttl_seconds),
  artifactTtlMs: toMs(artifacts.ttl_seconds),
});

/** How long presigned URLs are good for; 0 where no bucket is configured that could make them. */
export const presignTtlSeconds = ({ storage }: Pick<AdapterConfig, 'storage'>): number =>
  storage.s3?.presign_ttl_seconds ?? 0;

/** Fails with a sentence for the log when the folder cannot be used. */
export async function openFiles(
  config: AdapterConfig,
  parts: {
    readonly store: StateStore;
    readonly telemetry: Pick<Telemetry, 'filesRemoved'>;
    /** False while the store is down or replaced by memory: files are not deleted on its word. */
    readonly usable: () => boolean;
    readonly onError: (message: string, error: unknown) => void;
  },
): Promise<OpenedFiles> {
  const { storage, sessions, uploads } = config;
  const { store, telemetry } = parts;
  const records = store.files;
  const stage = await openStage(config);
  const blobStore = await openBlobStore(storage.s3, parts.onError);
  const files = new FileStore({
    stage,
    records,
    telemetry,
    onError: parts.onError,
    ...(blobStore && { blobStore }),
  });
  const locks = chooseLocks(storage.lock_mode, {
    stateType: config.state_persistence.type,
    root: storage.root,
    store,
  });
  const quotas = new Quotas({
    records,
    files,
    limits: {
      maxTotal: storage.max_size,
      maxSession: sessions.max_total_session_size,
      evictFirst: sessions.eviction_policy === 'lru_uploads_then_artifacts' ? 'upload' : 'artifact',
    },
    times: fileTimes(config),
    usable: parts.usable,
    clock: () => store.now(),
  });
  const received = new Uploads({
    records,
    files,
    quotas,
    locks,
    maxFileBytes: uploads.max_file_bytes,
    requireSha256: uploads.require_sha256,
    clock: () => store.now(),
    // A session must not expire under a slow upload.
    ...(sessions.idle_ttl_seconds !== null && {
      renewMs: Math.min(MAX_RENEW_MS, (sessions.idle_ttl_seconds * 1000) / 3),
    }),
  });
  return {
    files,
    quotas,
    locks,
    blobStore,
    uploads: received,
    async close() {
      await received.close();
      await locks.close();
      blobStore?.close();
    },
  };
}

async function openStage({ storage, state_persistence }: AdapterConfig): Promise<DiskStagingArea> {
  const { root, artifact_locator_policy: policy } = storage;
  try {
    return await DiskStagingArea.open({
      root,
      access: storage.access,
      atomicWrites: storage.atomic_writes,
      layout: storage.layout,
      locatorRoots: policy === 'allow_configured_roots' ? storage.artifact_locator_allowed_roots : [],
      forbidden: state_persistence.disk.local_path === null ? [] : [state_persistence.disk.local_path],
    });
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw new Error(
      `storage.root ${root} cannot be used: ${detail}. Make it a folder that this user may write, or set uploads.enabled ` +
        'to false and configure no artifact_producer and no results.spill_over_chars.',
      { cause: error },
    );
  }
}

function toMs(seconds: number | null): number | null {
  return seconds === null ? null : seconds * 1000;
}
