import { deadline } from '../kubernetes/deadline.ts';
import { ApiError, type KubernetesApi, type KubernetesObject, type OwnerReference } from '../kubernetes/kubernetes.ts';
import { microTime } from '../kubernetes/micro-time.ts';
import { pause } from '../../lib/pause.ts';
import { LEASES } from '../kubernetes/resources.ts';
import { within } from '../kubernetes/waits.ts';

export interface LeaderElectionOptions {
  readonly api: KubernetesApi;
  /** Of the Lease. */
  readonly namespace: string;
  readonly name: string;
  /** Unique for each process, also over restarts of a container. */
  readonly identity: string;
  /** What the Lease goes with, so that nothing of an operator stays that is removed; undefined when there is none. */
  readonly owner?: (signal: AbortSignal) => Promise<OwnerReference | undefined>;
  readonly leaseMs?: number;
  /** How long work may take to end after its signal aborted; then `run` rejects, and the process must end. */
  readonly stopMs?: number;
  /** Milliseconds of a clock that only goes forward. Only this one decides. */
  readonly monotonic?: () => number;
  /** For what people read in the Lease. */
  readonly now?: () => Date;
  /** From 0 to 1. */
  readonly random?: () => number;
  /** What went wrong with the Lease, once until it changes or passes; or with work that was told to end. */
  readonly onError?: (error: unknown) => void;
}

/** The work did not end although leadership is lost: only the end of the process makes sure that it does. */
export class WorkGoesOn extends Error {
  override readonly name = 'WorkGoesOn';
}

/** Reason of the work's signal when another may lead. */
export class LeadershipLost extends Error {
  override readonly name = 'LeadershipLost';
}

const LEASE_MS = 15_000;
const STOP_MS = 15_000;

interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
}

/**
 * One of several operators leads at a time, by a Lease.
 *
 *     following ──the lease is free, or unchanged for its duration──▶ leading ──stopped──▶ releasing ──▶ end
 *         ▲                                                              │
 *         └──────── taken by another, or not renewed for ⅔ of it ◀───────┘
 *
 * Wall clocks are never compared. Whoever waits measures, on its own monotonic clock, how long the Lease has not changed,
 * from after it saw the change; whoever leads counts from before it sent the renewal. So the leader has given up when a
 * follower's wait ends, with a third of the lease in between for requests that are still on their way.
 */
export class LeaderElection {
  readonly #api: KubernetesApi;
  readonly #namespace: string;
  readonly #name: string;
  readonly #identity: string;
  readonly #owner: (signal: AbortSignal) => Promise<OwnerReference | undefined>;
  readonly #leaseMs: number;
  readonly #stopMs: number;
  readonly #monotonic: () => number;
  readonly #now: () => Date;
  readonly #random: () => number;
  readonly #onError: (error: unknown) => void;
  /** Others' Lease as last seen, and since when it is so. */
  #seen: { readonly version: string; readonly since: number } | undefined;
  /** Ours as last written; undefined while not leading. */
  #lease: KubernetesObject | undefined;
  #leadsUntil = -Infinity;
  #lost = new AbortController();
  #lastError: string | undefined;

  constructor(options: LeaderElectionOptions) {
    this.#api = options.api;
    this.#namespace = options.namespace;
    this.#name = options.name;
    this.#identity = options.identity;
    this.#owner = options.owner ?? (() => Promise.resolve(undefined));
    this.#leaseMs = options.leaseMs ?? LEASE_MS;
    this.#stopMs = options.stopMs ?? STOP_MS;
    this.#monotonic = options.monotonic ?? (() => performance.now());
    this.#now = options.now ?? (() => new Date());
    this.#random = options.random ?? Math.random;
    this.#onError = options.onError ?? (() => {});
  }

  /**
   * Whether this process leads in this moment. To be asked before each write: after a freeze of the process, timers fire
   * late, but the clock knows.
   */
  leading(): boolean {
    if (this.#lease === undefined) return false;
    if (this.#monotonic() < this.#leadsUntil) return true;
    this.#lose();
    return false;
  }

  /**
   * Leads whenever it can until `signal` aborts; then lets the work end, releases the Lease and resolves. Also resolves
   * when the work ends by itself.
   * @param lead the work of the leader; its signal aborts when leadership is lost or `signal` aborts
   * @throws what `lead` throws, after releasing the Lease, or `WorkGoesOn`
   */
  async run(lead: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (!(await this.#acquire(signal))) continue;
      if (await this.#term(lead, signal)) return;
    }
  }

  /** One time of leading. True when the work ended because it was done or was to stop. */
  async #term(lead: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<boolean> {
    const lost = this.#lost.signal;
    const until = AbortSignal.any([lost, signal]);
    const renewal = new AbortController();
    const renewing = this.#keepRenewing(renewal.signal);
    let ended = false;
    const work = lead(until)
      .catch((error: unknown) => {
        if (!until.aborted) throw error;
        if (error !== until.reason) this.#onError(error);
      })
      .finally(() => {
        ended = true;
      });
    try {
      await this.#endOf(work, until);
    } finally {
      // Until here the Lease was kept, so that nobody else starts while the work ends.
      renewal.abort();
      await renewing;
      if (ended) await this.#release();
      this.#lease = undefined;
    }
    return !lost.aborted || signal.aborted;
  }

  #reportError(error: unknown): void {
    const text = String(error);
    if (text !== this.#lastError) this.#onError(error);
    this.#lastError = text;
  }

  async #endOf(work: Promise<void>, until: AbortSignal): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let arm = (): void => {};
    const late = new Promise<never>((_, reject) => {
      arm = () => {
        timer = setTimeout(() => reject(new WorkGoesOn('the work of the leader did not end in time')), this.#stopMs);
      };
      until.addEventListener('abort', arm, { once: true });
      if (until.aborted) arm();
    });
    try {
      await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
      until.removeEventListener('abort', arm);
    }
  }

  async #keepRenewing(signal: AbortSignal): Promise<void> {
    let wait = this.#leaseMs / 3;
    for (;;) {
      await pause(Math.min(wait, this.#leadsUntil - this.#monotonic()), signal);
      if (signal.aborted || !this.leading()) return;
      try {
        await this.#renew();
        this.#lastError = undefined;
        wait = this.#leaseMs / 3;
      } catch (error) {
        this.#reportError(error);
        wait = this.#leaseMs / 15;
      }
    }
  }

  async #renew(): Promise<void> {
    if (this.#lease === undefined) return;
    const limit = Math.min(this.#leaseMs / 5, this.#leadsUntil - this.#monotonic());
    try {
      await this.#write({ ...this.#lease, spec: { ...specOf(this.#lease), renewTime: microTime(this.#now()) } }, limit);
    } catch (error) {
      if (!(error instanceof ApiError) || (error.code !== 409 && error.code !== 404)) throw error;
      // Either an earlier renewal arrived although no answer came, or someone else has the Lease.
      const lease = await this.#read(limit);
      if (lease === undefined || specOf(lease).holderIdentity !== this.#identity) this.#lose();
      else if (this.#lease !== undefined) this.#lease = lease;
      throw error;
    }
  }

  async #read(limitMs: number, signal?: AbortSignal): Promise<KubernetesObject | undefined> {
    using limit = deadline(limitMs, 'the Lease', signal);
    const name = { namespace: this.#namespace, name: this.#name };
    return await within(limitMs, this.#api.get(LEASES, name, limit.signal));
  }

  /** PUT under the version that was read: of two who write at once, one gets 409. */
  async #write(lease: KubernetesObject, limitMs: number): Promise<void> {
    const lost = this.#lost.signal;
    const sent = this.#monotonic();
    const written = await within(limitMs, this.#api.replace(lease, LEASES));
    // Given up while the answer was on its way.
    if (this.#lost.signal !== lost || lost.aborted) return;
    this.#lease = written;
    this.#leadsUntil = sent + (this.#leaseMs * 2) / 3;
  }

  async #acquire(signal: AbortSignal): Promise<boolean> {
    try {
      const acquired = await this.#tryToAcquire(signal);
      this.#lastError = undefined;
      if (acquired) return true;
    } catch (error) {
      if (!signal.aborted && !isConflict(error)) this.#reportError(error);
    }
    await pause((this.#leaseMs / 15) * (0.9 + 0.2 * this.#random()), signal);
    return false;
  }

  async #tryToAcquire(signal: AbortSignal): Promise<boolean> {
    const limit = this.#leaseMs / 5;
    const lease = await this.#read(limit, signal);
    const spec = lease === undefined ? {} : specOf(lease);
    if (lease !== undefined && this.#isHeld(lease)) return false;
    const owned = await this.#owned(limit, signal);
    if (signal.aborted) return false;

    const time = microTime(this.#now());
    const mine: LeaseSpec = {
      holderIdentity: this.#identity,
      leaseDurationSeconds: Math.ceil(this.#leaseMs / 1000),
      acquireTime: time,
      renewTime: time,
      leaseTransitions: (spec.leaseTransitions ?? 0) + (lease === undefined ? 0 : 1),
    };
    this.#lost = new AbortController();
    if (lease !== undefined) {
      await this.#write({ ...lease, metadata: { ...lease.metadata, ...owned }, spec: { ...spec, ...mine } }, limit);
    } else {
      const { apiVersion, kind } = LEASES;
      const metadata = { namespace: this.#namespace, name: this.#name, ...owned };
      const sent = this.#monotonic();
      this.#lease = await within(limit, this.#api.create({ apiVersion, kind, metadata, spec: mine }, LEASES));
      this.#leadsUntil = sent + (this.#leaseMs * 2) / 3;
    }
    this.#seen = undefined;
    return true;
  }

  /** An operator that may not read its owner leads all the same. */
  async #owned(limitMs: number, signal: AbortSignal): Promise<{ ownerReferences?: readonly OwnerReference[] }> {
    using limit = deadline(limitMs, 'the owner of the Lease', signal);
    const owner = await within(limitMs, this.#owner(limit.signal)).catch(() => undefined);
    return owner === undefined ? {} : { ownerReferences: [owner] };
  }

  /** By another who may still be there. */
  #isHeld(lease: KubernetesObject): boolean {
    const { holderIdentity = '', leaseDurationSeconds } = specOf(lease);
    // Ours: the answer to an earlier attempt was lost. No other process has this identity.
    if (holderIdentity === '' || holderIdentity === this.#identity) return false;
    const version = lease.metadata.resourceVersion ?? '';
    if (this.#seen?.version !== version) this.#seen = { version, since: this.#monotonic() };
    const duration = leaseDurationSeconds === undefined ? this.#leaseMs : leaseDurationSeconds * 1000;
    return this.#monotonic() - this.#seen.since < duration;
  }

  #lose(): void {
    this.#lease = undefined;
    this.#lost.abort(new LeadershipLost('another operator may lead now'));
  }

  /** An empty holder lets the next one lead at once. */
  async #release(): Promise<void> {
    if (!this.leading() || this.#lease === undefined) return;
    const lease = this.#lease;
    this.#lease = undefined;
    const spec = { ...specOf(lease), holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(this.#now()) };
    try {
      await within(this.#leaseMs / 5, this.#api.replace({ ...lease, spec }, LEASES));
    } catch (error) {
      // It ends by itself.
      this.#onError(error);
    }
  }
}

function specOf(lease: KubernetesObject): LeaseSpec {
  return lease['spec'] ?? {};
}

function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.code === 409;
}
