import type { Caches } from './caches.ts';
import type { Logger } from './logger.ts';
import type { Options } from './options.ts';
import type { TaskRunner } from './tasks/task.ts';
import type { ControllerHooks } from './controllers/controller.ts';
import type { EventRecorder } from './status/events.ts';
import type { KubernetesApi } from './kubernetes/kubernetes.ts';

/** Name under which the operator owns fields. */
export const FIELD_MANAGER = 'mcp-operator';

/** What a controller is made from. */
export interface ControllerDeps {
  /** Refuses writes while another operator may lead. */
  readonly api: KubernetesApi;
  readonly caches: Caches;
  readonly events: EventRecorder;
  readonly log: Logger;
  readonly hooks: ControllerHooks;
  readonly taskRunner: TaskRunner;
  readonly options: Pick<Options, 'image' | 'podSecurity' | 'otlpEndpoint' | 'permissions'>;
  /** Of this program. */
  readonly version: string;
}
