import type { Baseline } from '../../catalog/baseline.ts';
import type { SessionRow, SessionTable } from './session-table.ts';
import type { Refused } from '../call-limits.ts';
import { take } from './limit-rules.ts';
import type { LimitTable } from './limit-table.ts';
import type { Caller, CallLease, EnteringCall, Found, SessionKey, SessionRecord } from '../state-store.ts';
import { isTerminal, kept, seenBy, withSubscription } from '../stored-session.ts';

/*
 * The steps of a StateStore as decisions over a table. Each runs as a whole or, when the table throws, must be undone
 * by the caller. Times and limits are those of the StateStore methods of the same name.
 */

export function reserve(
  table: SessionTable,
  key: SessionKey,
  { maxActive, now, expiresAt }: { maxActive: number; now: number; expiresAt: number },
): boolean {
  table.dropReservation(key);
  if (table.placesTaken(now) >= maxActive) return false;
  table.setReservation(key, expiresAt);
  return true;
}

export function open(table: SessionTable, record: SessionRecord): void {
  table.dropReservation(record);
  table.put({ record, ending: null });
}

export function find(table: SessionTable, key: SessionKey, caller: Caller): Found {
  return seenBy(table.get(key), caller);
}

export function touch(table: SessionTable, key: SessionKey, caller: Caller): Found {
  const row = table.get(key);
  const found = seenBy(row, caller);
  if (row === undefined || found.state !== 'active') return found;
  noteActivity(table, row, caller.now);
  return { state: 'active', record: row.record };
}

export function enter(
  table: SessionTable,
  limits: LimitTable,
  key: SessionKey,
  caller: Caller,
  call: EnteringCall,
): Found | { state: 'limit' } | Refused {
  const row = table.get(key);
  const found = seenBy(row, caller);
  if (row === undefined || found.state !== 'active') return found;

  if (call.maxInFlight !== null && row.leases.size >= call.maxInFlight && !row.leases.has(call.id)) {
    table.dropExpiredLeases(row, caller.now);
    if (row.leases.size >= call.maxInFlight) return { state: 'limit' };
  }
  const { taking } = call;
  if (taking !== undefined && !row.leases.has(call.id)) {
    const refused = take(limits, { ...call, taking }, caller.now);
    if (refused !== undefined) return refused;
  }
  if (call.isUncounted !== true) table.setLease(row, call.id, call.until);
  noteActivity(table, row, caller.now);
  return { state: 'active', record: row.record };
}

export function renew(table: SessionTable, calls: readonly { key: SessionKey; lease: CallLease }[], now: number): void {
  for (const { key, lease } of calls) {
    const row = table.get(key);
    if (!row?.leases.has(lease.id)) continue;
    table.setLease(row, lease.id, lease.until);
    noteActivity(table, row, now);
  }
}

export function leave(table: SessionTable, key: SessionKey, leaseId: string, now: number): void {
  const row = table.get(key);
  if (!row?.leases.has(leaseId)) return;
  table.dropLease(row, leaseId);
  noteActivity(table, row, now);
}

/** Clocks of replicas differ: the latest time stays. */
function noteActivity(table: SessionTable, row: SessionRow, now: number): void {
  if (now > row.record.lastActiveAt) table.touch(row, now);
}

export function revive(
  table: SessionTable,
  key: SessionKey,
  caller: Caller,
  { maxActive }: { maxActive: number | null },
): Found | { state: 'limit' } {
  const row = table.get(key);
  const found = seenBy(row, caller);
  if (row === undefined || found.state !== 'tombstoned') return found;
  if (maxActive !== null && table.placesTaken(caller.now) >= maxActive) return { state: 'limit' };
  table.end(row, null);
  table.change(row, { lastActiveAt: caller.now });
  return { state: 'active', record: row.record };
}

export function replaceUpstream(
  table: SessionTable,
  key: SessionKey,
  generation: number,
  upstream: { upstreamSessionId: string | null; protocolVersion: string },
): boolean {
  const row = table.get(key);
  if (row === undefined || row.ending !== null || row.record.generation !== generation) return false;
  const { upstreamSessionId, protocolVersion } = upstream;
  table.change(row, { upstreamSessionId, protocolVersion, generation: generation + 1 });
  return true;
}

export function setLogLevel(table: SessionTable, key: SessionKey, params: string): void {
  const row = table.get(key);
  if (row !== undefined) table.change(row, { logLevel: params });
}

export function setSubscription(table: SessionTable, key: SessionKey, uri: string, subscribed: boolean): void {
  const row = table.get(key);
  if (row === undefined) return;
  const subscriptions = withSubscription(row.record.subscriptions, uri, subscribed);
  if (subscriptions !== row.record.subscriptions) table.change(row, { subscriptions });
}

export function dropLists(table: SessionTable, key: SessionKey): void {
  const row = table.get(key);
  if (row !== undefined) table.change(row, { listsGeneration: row.record.listsGeneration + 1 });
}

export function pin(table: SessionTable, key: SessionKey, baseline: Baseline): Baseline | undefined {
  const row = table.get(key);
  if (row === undefined || row.ending !== null) return undefined;
  if (row.record.baseline !== null) return pinned(table, key);
  table.pin(row, kept(baseline));
  return baseline;
}

/** See `StateStore.baseline`. */
export function pinned(table: SessionTable, key: SessionKey): Baseline | undefined {
  const row = table.get(key);
  if (row === undefined || isTerminal(row) || row.record.baseline === null) return undefined;
  const fingerprint = row.record.baseline;
  return { fingerprint, text: table.baselineText(fingerprint) };
}

export function remove(table: SessionTable, key: SessionKey): SessionRecord | undefined {
  const row = table.get(key);
  if (row === undefined) return undefined;
  table.delete(row);
  return row.record;
}

export function invalidate(table: SessionTable, key: SessionKey, reason: string, expiresAt: number): boolean {
  const row = table.get(key);
  if (row === undefined) return false;
  if (!isTerminal(row)) table.end(row, { expiresAt, reason });
  return true;
}

export function expireIdle(
  table: SessionTable,
  options: { now: number; idleBefore: number; tombstoneUntil: number | null; limit: number },
): SessionRecord[] {
  return table.idle(options.idleBefore, options.now, options.limit).map((row) => {
    const { record } = row;
    if (options.tombstoneUntil === null) {
      table.delete(row);
    } else {
      table.end(row, { expiresAt: options.tombstoneUntil, reason: null });
      table.change(row, { upstreamSessionId: '' });
    }
    return record;
  });
}

export function expireTombstones(table: SessionTable, options: { now: number; limit: number }): SessionRecord[] {
  return table.expired(options.now, options.limit).map((row) => {
    table.delete(row);
    return row.record;
  });
}

/** See `FileRecords.ownerOf`. */
export function ownerOf(table: SessionTable, sessionId: string): string | undefined {
  const [owner, ...others] = table.ofId(sessionId).filter((row) => !isTerminal(row));
  return others.length === 0 ? owner?.record.serverId : undefined;
}

/** Locks run on the store's own clock: they exclude processes, not requests. */
export function tryLock(
  table: SessionTable,
  name: string,
  { owner, ttlMs, now }: { owner: string; ttlMs: number; now: number },
): boolean {
  const holder = lockHolder(table, name, now);
  if (holder !== undefined && holder !== owner) return false;
  if (holder === undefined) table.dropExpiredLocks(now);
  table.setLock(name, { owner, until: now + ttlMs });
  return true;
}

export function unlock(table: SessionTable, name: string, owner: string): void {
  if (table.lock(name)?.owner === owner) table.setLock(name, undefined);
}

export function lockHolder(table: SessionTable, name: string, now: number): string | undefined {
  const lock = table.lock(name);
  return lock !== undefined && lock.until > now ? lock.owner : undefined;
}
