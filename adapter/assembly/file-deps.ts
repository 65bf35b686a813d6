import type { AdapterConfig } from '../../crds/config/adapter-file/adapter.ts';
import type { ClientNotices } from '../sessions/client-notices.ts';
import type { OpenedFiles } from './open-files.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import type { SharedSecret } from '../state/shared-secret.ts';
import type { StateStore } from '../state/state-store.ts';
import type { UploadNonces } from '../state/upload-nonces.ts';
import type { Backend, Telemetry } from '../telemetry/telemetry.ts';

/** What tools and routes that bring files in and out work with; one of each per program. */
export interface FileDeps {
  readonly config: AdapterConfig;
  readonly store: StateStore;
  /** The store's, with telemetry. */
  readonly nonces: UploadNonces;
  /** What keeps the state now, for telemetry. */
  readonly backend: () => Backend;
  /** Undefined where nothing stores files: uploads are off, and nothing is produced. */
  readonly opened: OpenedFiles | undefined;
  readonly secret: SharedSecret;
  readonly sessions: SessionRegistry;
  readonly notices: ClientNotices;
  readonly telemetry: Telemetry;
}
