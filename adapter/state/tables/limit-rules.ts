import { type HeldPlaces, type LimitedCall, placeId, type Refused } from '../call-limits.ts';
import { moved, waitUs } from './gcra.ts';
import type { LimitTable } from './limit-table.ts';

/** Takes from all limits of a call, or from none. What has its places already takes nothing more. */
export function take(table: LimitTable, { id, until, taking }: LimitedCall, now: number): Refused | undefined {
  const { rates, places } = taking;
  const [first] = places;
  if (first !== undefined && table.holdsPlace(first.key, placeId(id, 0))) return undefined;
  const nowUs = now * 1000;
  let longest = 0;
  let refusing = -1;
  for (const [index, rate] of rates.entries()) {
    const wait = waitUs(moved(table.freeAt(rate.key), nowUs, rate), nowUs, rate);
    if (wait > longest) [longest, refusing] = [wait, index];
  }
  if (refusing >= 0) return { state: 'rate', index: refusing, waitMs: longest / 1000 };
  for (const [index, { key, most, calls }] of places.entries()) {
    if (table.placesTaken(key, now) + calls > most) return { state: 'places', index };
  }
  for (const rate of rates) table.setFreeAt(rate.key, moved(table.freeAt(rate.key), nowUs, rate), now);
  for (const { key, calls } of places) {
    for (let index = 0; index < calls; index += 1) table.setPlace(key, placeId(id, index), until);
  }
  return undefined;
}

export function renewPlaces(table: LimitTable, { id, places }: HeldPlaces, until: number): void {
  for (const { key, calls } of places) {
    for (let index = 0; index < calls; index += 1) {
      const place = placeId(id, index);
      if (table.holdsPlace(key, place)) table.setPlace(key, place, until);
    }
  }
}

export function leavePlaces(table: LimitTable, { id, places }: HeldPlaces): void {
  for (const { key, calls } of places) {
    for (let index = 0; index < calls; index += 1) table.dropPlace(key, placeId(id, index));
  }
}
