/**
 * Limits of tool calls, shared by all replicas. Each method is one atomic step: a call takes from all of its limits, or from
 * none. Calls in a session take what limits allow in `StateStore.enter`, and give it back in `StateStore.leave`.
 */
export interface CallLimits {
  /** Starts calls outside of sessions. Undefined: nothing is against it. One that has its places already takes nothing more. */
  take(call: LimitedCall, now: number): Promise<Refused | undefined>;
  /** Extends the places of calls that still run. Semaphore that are gone stay gone. */
  renew(calls: readonly HeldPlaces[], until: number): Promise<void>;
  /** Gives the places of calls back. Doing it twice is harmless. */
  leave(held: HeldPlaces): Promise<void>;
}

/** What calls that come together take, of each limit that counts them. */
export interface Taking {
  readonly rates: readonly RateTaking[];
  readonly places: readonly PlaceTaking[];
}

/** Who shares a limit. */
export type Shared = 'caller' | 'server' | 'tool' | 'caller+tool';

export interface RateTaking {
  readonly per: Shared;
  /** The bucket. What is taken from one always comes with the same rate. */
  readonly key: string;
  /** Microseconds from one call to the next, whole ones. */
  readonly intervalUs: number;
  /** Calls that may begin at once. */
  readonly burst: number;
  readonly calls: number;
}

export interface PlaceTaking {
  readonly per: Shared;
  /** Where the calls are counted that run. */
  readonly key: string;
  /** How many of them there may be. */
  readonly most: number;
  readonly calls: number;
}

/** The places that calls hold; `id` is unique among all replicas. */
export interface HeldPlaces {
  readonly id: string;
  readonly places: readonly PlaceTaking[];
}

/** Calls that hold their places until `until`, unless they are renewed. */
export interface LimitedCall {
  readonly id: string;
  readonly until: number;
  readonly taking: Taking;
}

/** Nothing was taken. `index`: the limit that refuses for the longest time, in its list of the `Taking`. */
export type Refused =
  | { readonly state: 'rate'; readonly index: number; readonly waitMs: number }
  | { readonly state: 'places'; readonly index: number };

/** How the places of calls that came together are told apart. */
export const placeId = (id: string, index: number): string => `${id}:${index}`;
