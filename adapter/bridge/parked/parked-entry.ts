import type { BusKey } from '../../state/message-bus.ts';

/** What the replica that holds a parked call says to the one that waits for it. */
export type ParkedEntry =
  /** JSON text of a notification. */
  | { readonly type: 'message'; readonly text: string }
  /** JSON text of an `input_required` result. */
  | { readonly type: 'asks'; readonly result: string }
  /** JSON text of the response. */
  | { readonly type: 'response'; readonly text: string };

/** What is said to it: results (JSON texts) by the keys of the questions, or that nobody waits any more. */
export type ParkedOrder =
  | { readonly type: 'answers'; readonly round: number; readonly results: Readonly<Record<string, string>> }
  /** The questions of a round are asked once more, under a carrier that nobody else follows. */
  | { readonly type: 'repeat'; readonly round: number; readonly carrier: string }
  | { readonly type: 'cancel' };

/** The log of a parked call on the bus. */
export const parkedKey = (serverId: string, exchange: string): BusKey => ({
  serverId,
  sessionId: `parked-${exchange}`,
  generation: 0,
});

/** Who waits for answers. */
export const ORDERS = 'in';
/** What follows the answers of a round. */
export const after = (round: number): string => `out:${round}`;
/** Held by a replica for as long as it lives. */
export const replicaLock = (id: string): string => `parked-replica:${id}`;
/** Held by the replica that has the call. */
export const ownerLock = (serverId: string, exchange: string): string => `parked:${serverId}:${exchange}`;
/** Taken by the answers of a round: there are no others. */
export const roundLock = (serverId: string, exchange: string, round: number): string =>
  `parked-round:${serverId}:${exchange}:${round}`;
