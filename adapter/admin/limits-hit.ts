import type { LimitedObservation, Telemetry } from '../telemetry/telemetry.ts';

/** How many calls limits have refused since the start, on this replica, whether anybody reads metrics or not. */
export class LimitsHit {
  #rate = 0;
  #concurrent = 0;

  /** The same telemetry, and what it is told is counted. */
  counting(telemetry: Pick<Telemetry, 'session' | 'limited'>): Pick<Telemetry, 'session' | 'limited'> {
    return {
      session: (observed) => telemetry.session(observed),
      limited: (observed) => {
        this.#count(observed);
        telemetry.limited(observed);
      },
    };
  }

  get counts(): { readonly rate: number; readonly concurrent: number } {
    return { rate: this.#rate, concurrent: this.#concurrent };
  }

  #count({ limit }: LimitedObservation): void {
    if (limit === 'rate') this.#rate += 1;
    else this.#concurrent += 1;
  }
}
