import type { Telemetry, TelemetrySources } from '../telemetry.ts';

/** Names of what can be observed. */
type Kind = Exclude<keyof Telemetry, 'isOn' | 'observe'>;
type Observed<K extends Kind> = Parameters<Telemetry[K]>[0];

/** Keeps what it is told, for tests to look at. */
export class RecordingTelemetry implements Telemetry {
  readonly isOn = true;
  /** Everything in the order in which it came. */
  readonly all: { readonly kind: Kind; readonly observed: Observed<Kind> }[] = [];
  readonly request = this.#keeps('request');
  readonly nestedCall = this.#keeps('nestedCall');
  readonly upload = this.#keeps('upload');
  readonly uploadFailed = this.#keeps('uploadFailed');
  readonly upstreamCall = this.#keeps('upstreamCall');
  readonly ping = this.#keeps('ping');
  readonly policyTransition = this.#keeps('policyTransition');
  readonly nonce = this.#keeps('nonce');
  readonly credential = this.#keeps('credential');
  readonly download = this.#keeps('download');
  readonly artifact = this.#keeps('artifact');
  readonly artifactFailed = this.#keeps('artifactFailed');
  readonly spilled = this.#keeps('spilled');
  readonly fileRule = this.#keeps('fileRule');
  readonly lockDrift = this.#keeps('lockDrift');
  readonly bridged = this.#keeps('bridged');
  readonly filesRemoved = this.#keeps('filesRemoved');
  readonly wiring = this.#keeps('wiring');
  readonly cleanup = this.#keeps('cleanup');
  readonly session = this.#keeps('session');
  readonly drift = this.#keeps('drift');
  readonly dropped = this.#keeps('dropped');
  readonly limited = this.#keeps('limited');
  sources: TelemetrySources | undefined;

  observe(sources: TelemetrySources): void {
    this.sources = sources;
  }

  /** What was observed of one kind. */
  of<K extends Kind>(kind: K): Observed<K>[] {
    return this.all.filter((one) => one.kind === kind).map(({ observed }) => observed as Observed<K>);
  }

  #keeps<K extends Kind>(kind: K): (observed: Observed<K>) => void {
    return (observed) => {
      this.all.push({ kind, observed });
    };
  }
}
