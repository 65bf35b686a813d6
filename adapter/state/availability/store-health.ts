import { SessionMirror } from './session-mirror.ts';
import type { PolicyTransition } from '../../telemetry/telemetry.ts';
import { StoreUnavailable } from '../state-store.ts';
import type { StateStore } from '../state-store.ts';
import { WaitingRoom } from '../waiting-room.ts';

/** `state_persistence.unavailable_policy` (specification 2.3). */
export type UnavailablePolicy = 'fail_closed' | 'exit' | 'fallback_memory';

export interface AvailabilityOptions {
  readonly policy: UnavailablePolicy;
  /** `state_persistence.type`. */
  readonly configuredType: string;
  /** Time between two health checks, in milliseconds. */
  readonly pingMs: number;
  /** How long operations wait for the store before the policy is applied, in milliseconds. Default: not at all. */
  readonly waitMs?: number;
  /** Memory takes over: what waits for the store need not. */
  readonly onFallback?: () => void;
  /** Runs once at the first contact with the store, which may come long after the start. */
  readonly prepare: (store: StateStore) => Promise<void>;
  /** Ends the process; called once, with the reason, under the policy `exit`. */
  readonly exit: (reason: string) => void;
  /** Told what an outage, or its end, leads to. */
  readonly onTransition?: ((transition: StoreTransition) => void) | undefined;
  /** Told in one sentence when the store fails and when it is back. */
  readonly log: (message: string) => void;
}

export type StoreTransition = Pick<PolicyTransition, 'action' | 'source'>;

/** How the store is. Times are milliseconds since the epoch. */
export interface Availability {
  readonly status: 'ok' | 'degraded';
  readonly policy: UnavailablePolicy;
  readonly configuredType: string;
  /** `memory` while the fallback is active. */
  readonly effectiveType: string;
  readonly fallbackActive: boolean;
  /** Stateful operations are refused. */
  readonly unavailable: boolean;
  readonly exitRequested: boolean;
  readonly degradedReason: string | null;
  /** The last failure, also after the store is back. */
  readonly lastError: string | null;
  readonly lastTransitionAt: number | null;
  readonly ping: {
    readonly intervalMs: number;
    readonly lastLatencyMs: number | null;
    readonly lastError: string | null;
    readonly lastSuccessAt: number | null;
    readonly lastFailureAt: number | null;
  };
}

/** While the store is down, so often a request may try whether it is back. */
const TRIAL_INTERVAL_MS = 1_000;
/** `fallback_memory` bridges interruptions that are shorter: what is opened in memory is lost afterwards. */
const FALLBACK_PATIENCE_MS = 250;
const MIRRORED_SESSIONS = 50_000;

/**
 * Which store is in charge: applies `unavailable_policy` to the primary one. Only StoreUnavailable counts, and only when a ping
 * confirms it; for `exit` a whole ping interval later, because the failure must last.
 *
 *     available ── StoreUnavailable, then a failed ping ──▶ outage ── ping or trial succeeds ──▶ available
 *
 * In an outage `fail_closed` refuses everything but a trial each second, once it has waited for the end of the outage;
 * `fallback_memory` goes on with the sessions that this replica last saw and drops that state when the store is back;
 * `exit` has asked for the end.
 */
export class StoreHealth {
  readonly #primary: StateStore;
  readonly #options: AvailabilityOptions;
  readonly #stopping = new AbortController();
  /** For the end of an outage. */
  readonly #room = new WaitingRoom();
  #probing: Promise<void> | undefined;
  #prepared = false;
  #preparing: Promise<void> | undefined;
  #mirror: SessionMirror | undefined;
  #fallback: StateStore | undefined;
  /** Why operations are refused or go to memory; undefined while the store is available. */
  #outage: { readonly reason: string; trialAt: number } | undefined;
  #confirming: Promise<void> | undefined;
  #exitRequested = false;
  #lastError: string | null = null;
  #lastTransitionAt: number | null = null;
  #ping: Availability['ping'];

  constructor(primary: StateStore, options: AvailabilityOptions) {
    this.#primary = primary;
    this.#options = options;
    this.#ping = {
      intervalMs: options.pingMs,
      lastLatencyMs: null,
      lastError: null,
      lastSuccessAt: null,
      lastFailureAt: null,
    };
    if (options.policy === 'fallback_memory') this.#mirror = new SessionMirror(MIRRORED_SESSIONS);
  }

  /** Makes the first contact, which may fail like any later one, and begins to check the store's health. */
  async start(): Promise<void> {
    const failure = await this.#contact();
    if (failure !== undefined) this.#beginOutage(failure, 'startup:startup_probe');
    this.#probing = this.#probe();
  }

  /** Also while memory replaces the store, which goes on with what came from there. */
  now(): number {
    return this.#primary.now();
  }

  get fallbackActive(): boolean {
    return this.#fallback !== undefined;
  }

  status(): Availability {
    const outage = this.#outage;
    return {
      status: outage === undefined ? 'ok' : 'degraded',
      policy: this.#options.policy,
      configuredType: this.#options.configuredType,
      effectiveType: this.#fallback === undefined ? this.#options.configuredType : 'memory',
      fallbackActive: this.#fallback !== undefined,
      unavailable: outage !== undefined && this.#fallback === undefined,
      exitRequested: this.#exitRequested,
      degradedReason: outage?.reason ?? null,
      lastError: this.#lastError,
      lastTransitionAt: this.#lastTransitionAt,
      ping: this.#ping,
    };
  }

  /** What is to go on in an outage, while there is none. */
  get mirror(): SessionMirror | undefined {
    return this.#mirror;
  }

  /** The store was emptied. */
  resetMirror(): void {
    if (this.#mirror !== undefined) this.#mirror = new SessionMirror(MIRRORED_SESSIONS);
  }

  /** Stops the health checks and closes the primary store. */
  async close(): Promise<void> {
    this.#stopping.abort();
    this.#room.close();
    await Promise.all([this.#probing, this.#confirming]);
    await this.#primary.close();
  }

  /** From now on operations fail at once in an outage. */
  endWaits(): void {
    this.#room.close();
  }

  /** There is reason to think that the store is back. */
  async recheck(): Promise<void> {
    if (this.#outage === undefined) return;
    const contact = await this.#tryContact();
    if (contact === 'available' && this.#outage !== undefined) this.#endOutage();
  }

  /** Carries out an operation on the store that is in charge, or refuses it with StoreUnavailable. */
  async run<T>(operation: (store: StateStore) => Promise<T>, waits = true): Promise<T> {
    if (this.#outage !== undefined && this.#fallback === undefined) await this.#claimTrial(this.#outage, waits);
    if (this.#fallback !== undefined) return operation(this.#fallback);
    const outage = this.#outage;
    try {
      const result = await operation(this.#primary);
      if (outage !== undefined && outage === this.#outage) this.#endOutage();
      return result;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      const confirmed = this.#suspect('state_store', error);
      if (this.#options.policy === 'fallback_memory') await confirmed;
      const fallback: StateStore | undefined = this.#fallback;
      if (fallback !== undefined) return operation(fallback);
      throw error;
    }
  }

  /**
   * Returns when this operation may try whether the store is back, or when it is; the others fail without trying, after
   * they have waited.
   */
  async #claimTrial(outage: { trialAt: number }, waits: boolean): Promise<void> {
    const now = performance.now();
    if (this.#prepared && now >= outage.trialAt) {
      outage.trialAt = now + TRIAL_INTERVAL_MS;
      return;
    }
    if (waits && (await this.#room.wait(this.#options.waitMs ?? 0))) return;
    throw new StoreUnavailable(this.#lastError ?? 'the state store is down');
  }

  /** Begins an outage if the next ping fails too. Never rejects. */
  #suspect(component: string, error: StoreUnavailable, waitMs = 0): Promise<void> {
    this.#lastError = error.message;
    if (this.#outage !== undefined) return Promise.resolve();
    this.#confirming ??= this.#confirm(component, waitMs);
    return this.#confirming;
  }

  /** `waitMs`: for how long operations may wait for the store yet. */
  async #confirm(component: string, waitMs: number): Promise<void> {
    const { policy, pingMs } = this.#options;
    const patience = { fail_closed: 0, fallback_memory: FALLBACK_PATIENCE_MS, exit: pingMs }[policy];
    await this.#sleep(Math.max(patience, waitMs));
    const contact = await this.#tryContact();
    this.#confirming = undefined;
    if (!(contact instanceof StoreUnavailable) || this.#stopping.signal.aborted) return;
    this.#beginOutage(contact, `runtime:${component}`);
  }

  /** The reason's last part differs between the two kinds, as dashboards know it. */
  #beginOutage(error: StoreUnavailable, source: StoreTransition['source']): void {
    const { policy, exit, log, onTransition } = this.#options;
    const isStart = source.startsWith('startup:');
    const component = source.slice(source.indexOf(':') + 1);
    const unavailable = isStart ? 'during_startup' : `via_${component}`;
    const activated = isStart ? 'during_startup' : `by_${component}`;
    this.#lastError = error.message;
    this.#lastTransitionAt = Date.now();
    const reason = {
      fail_closed: `persistence_unavailable_${unavailable}`,
      fallback_memory: `fallback_memory_activated_${activated}`,
      exit: `persistence_unavailable_exit_${unavailable}`,
    }[policy];
    this.#outage = { reason, trialAt: 0 };
    this.#fallback = this.#mirror?.store;
    this.#mirror = undefined;
    if (this.#fallback !== undefined) this.#options.onFallback?.();
    log(`${reason}: ${error.message}`);
    onTransition?.({ action: actionOf(policy, isStart), source });
    if (policy !== 'exit' || this.#exitRequested) return;
    this.#exitRequested = true;
    exit(`${reason}: ${error.message}`);
  }

  #endOutage(): void {
    const { policy, configuredType, log, onTransition } = this.#options;
    this.#outage = undefined;
    this.#fallback = undefined;
    if (policy === 'fallback_memory') this.#mirror = new SessionMirror(MIRRORED_SESSIONS);
    this.#lastTransitionAt = Date.now();
    this.#room.letIn();
    log(`the ${configuredType} state store is available again`);
    onTransition?.({ action: 'recover', source: `runtime:${configuredType}_persistence_health` });
  }

  /** Pings the store and prepares it if that is still to be done. Returns the failure; raises a fault of our own. */
  async #contact(): Promise<StoreUnavailable | undefined> {
    const start = performance.now();
    try {
      await this.#primary.ping();
      const lastLatencyMs = performance.now() - start;
      this.#ping = { ...this.#ping, lastLatencyMs, lastError: null, lastSuccessAt: Date.now() };
      if (!this.#prepared) await this.#prepare();
      return undefined;
    } catch (error) {
      this.#ping = { ...this.#ping, lastError: messageOf(error), lastFailureAt: Date.now() };
      if (error instanceof StoreUnavailable) return error;
      throw error;
    }
  }

  /** Once, also where several find the store at the same moment: it may empty it. */
  async #prepare(): Promise<void> {
    this.#preparing ??= this.#options.prepare(this.#primary).finally(() => (this.#preparing = undefined));
    await this.#preparing;
    this.#prepared = true;
  }

  /** As `#contact`, for where nobody could handle a fault of our own: it says nothing about the store. */
  async #tryContact(): Promise<StoreUnavailable | 'available' | 'unknown'> {
    try {
      return (await this.#contact()) ?? 'available';
    } catch (error) {
      this.#options.log(`the health check of the state store failed: ${messageOf(error)}`);
      return 'unknown';
    }
  }

  async #probe(): Promise<void> {
    const component = `${this.#options.configuredType}_persistence_health`;
    while (await this.#sleep(this.#options.pingMs)) {
      const contact = await this.#tryContact();
      if (contact instanceof StoreUnavailable) await this.#suspect(component, contact, this.#options.waitMs);
      else if (contact === 'available' && this.#outage !== undefined) this.#endOutage();
    }
  }

  /** False when the store is being closed. */
  #sleep(ms: number): Promise<boolean> {
    const { signal } = this.#stopping;
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        resolve(!signal.aborted);
      };
      const timer = setTimeout(wake, ms).unref();
      signal.addEventListener('abort', wake);
    });
  }
}

function actionOf(policy: UnavailablePolicy, isStart: boolean): StoreTransition['action'] {
  if (policy === 'exit') return 'exit';
  if (policy === 'fallback_memory') return 'switch_to_fallback';
  return isStart ? 'continue_fail_closed' : 'activate_fail_closed';
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
