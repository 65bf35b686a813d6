import type { Mount } from '../mount/mount.ts';
import type { StartupHealth } from '../upstream/startup-wait.ts';
import type { Logger } from '../telemetry/logs/logger.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { startupWait } from '../upstream/startup-wait.ts';

export interface UpstreamPingDeps {
  /** `max_start_wait_seconds` */
  readonly maxWaitSeconds: number;
  /** Aborted when the replica stops: nothing is waited for any more, and no further pings start. */
  readonly stopping: AbortSignal;
  readonly telemetry: Pick<Telemetry, 'wiring'>;
  readonly logger: Logger;
}

/** The pings of all upstreams: each is waited for at the start, and pinged regularly from its first answer on. */
export class UpstreamPings {
  readonly #mounts: readonly Pick<Mount, 'serverId' | 'ping'>[];
  readonly #parts: UpstreamPingDeps;
  #startup: StartupHealth | undefined;

  constructor(mounts: readonly Pick<Mount, 'serverId' | 'ping'>[], parts: UpstreamPingDeps) {
    this.#mounts = mounts;
    this.#parts = parts;
  }

  /** How the wait at the start has ended; undefined until then. */
  get startup(): StartupHealth | undefined {
    return this.#startup;
  }

  /** Returns at once. Once the wait is over, those that have not answered are pinged regularly, too. */
  start(): void {
    const { maxWaitSeconds, stopping, telemetry, logger } = this.#parts;
    for (const { serverId, ping } of this.#mounts) {
      if (ping === undefined) telemetry.wiring({ serverId, result: 'ready' });
    }
    const pinged = this.#mounts.filter(({ ping }) => ping !== undefined);
    void startupWait(
      pinged.map(({ serverId, ping }) => ({
        id: serverId,
        ping: async () => {
          const reached = (await ping?.reach()) ?? true;
          // Without waiting for the others: it may go meanwhile.
          if (reached && !stopping.aborted) ping?.start();
          return reached;
        },
      })),
      maxWaitSeconds,
      stopping,
    ).then((result) => {
      this.#startup = result;
      if (result.not_ready_servers.length > 0) {
        logger.warn({ servers: result.not_ready_servers }, 'started degraded: upstream servers do not answer');
      }
      if (!stopping.aborted) for (const { ping } of pinged) ping?.start();
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.#mounts.map(async ({ ping }) => ping?.stop()));
  }
}
