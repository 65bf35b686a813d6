import type { CallLimits, Refused } from '../call-limits.ts';
import type { FileRecord, FileRecords } from '../file-records.ts';
import type { FirstTexts } from '../first-texts.ts';
import { forwarding } from './forwarding.ts';
import type { Steps } from './forwarding.ts';
import type { SessionMirror } from './session-mirror.ts';
import type { Caller, Found, SessionKey, SessionRecord, StateStore } from '../state-store.ts';
import { StoreHealth } from './store-health.ts';
import type { Availability, AvailabilityOptions } from './store-health.ts';
import type { UploadNonces } from '../upload-nonces.ts';

/** A store that applies `unavailable_policy` to another one. */
export interface AvailableStore extends StateStore {
  readonly fallbackActive: boolean;
  /** Makes the first contact, which may fail like any later one, and begins to check the store's health. */
  start(): Promise<void>;
  /** There is reason to think that the store is back. */
  recheck(): Promise<void>;
  /** From now on operations fail at once in an outage. */
  endWaits(): void;
  status(): Availability;
  /** Another replica has said that the session ended. */
  forget(key: SessionKey): void;
  /** Stops the health checks and closes the store. */
  close(): Promise<void>;
}

/** Applies `unavailable_policy` to a store; a mirror, if there is one, follows what becomes of its sessions and files. */
export function availableStore(primary: StateStore, options: AvailabilityOptions): AvailableStore {
  const health = new StoreHealth(primary, options);
  const now = (): number => health.now();
  const mirror = (): SessionMirror | undefined => health.mirror;
  /** Carries out operations on one part of the store that is in charge. */
  const on =
    <T>(part: (store: StateStore) => T) =>
    <R>(operation: (target: T) => Promise<R>, waits: boolean): Promise<R> =>
      health.run((store) => operation(part(store)), waits);
  return {
    ...forwarding(
      on((store) => store),
      STORE,
      mirror,
    ),
    files: {
      ...forwarding(
        on((store) => store.files),
        FILES,
        mirror,
      ),
      now,
    },
    nonces: forwarding(
      on((store) => store.nonces),
      NONCES,
    ),
    firstTexts: forwarding(
      on((store) => store.firstTexts),
      FIRST_TEXTS,
    ),
    callLimits: forwarding(
      on((store) => store.callLimits),
      CALL_LIMITS,
    ),
    now,
    async clear() {
      await health.run((store) => store.clear());
      health.resetMirror();
    },
    close: () => health.close(),
    start: () => health.start(),
    recheck: () => health.recheck(),
    endWaits: () => health.endWaits(),
    get fallbackActive() {
      return health.fallbackActive;
    },
    status: () => health.status(),
    forget: (key) => health.mirror?.removed(key),
  };
}

const found = (
  mirror: SessionMirror,
  result: Found | { state: 'limit' } | Refused,
  key: SessionKey,
  caller: Caller,
): void => mirror.found(key, caller, result);

const removed = (mirror: SessionMirror, records: readonly SessionRecord[]): void => {
  for (const record of records) mirror.removed(record);
};

const STORE: Steps<Omit<StateStore, 'clear' | 'close'>, SessionMirror> = {
  secret: (mirror, secret, name) => mirror.store.importSecrets([[name, secret]]),
  reserve: 'waits',
  release: 'waits',
  open: (mirror, _, record) => mirror.opened(record),
  find: found,
  touch: found,
  enter: found,
  renew: 'waits',
  leave: 'waits',
  revive: found,
  replaceUpstream: (mirror, replaced, ...args) => replaced && mirror.store.replaceUpstream(...args),
  setLogLevel: (mirror, _, ...args) => mirror.store.setLogLevel(...args),
  setSubscription: (mirror, _, ...args) => mirror.store.setSubscription(...args),
  dropLists: (mirror, _, key) => mirror.store.dropLists(key),
  pin: (mirror, pinned, key) => pinned && mirror.pinned(key, pinned),
  baseline: (mirror, pinned, key) => pinned && mirror.pinned(key, pinned),
  remove: (mirror, _, key) => mirror.removed(key),
  invalidate: (mirror, _, ...args) => mirror.store.invalidate(...args),
  expireIdle: (mirror, expired, { tombstoneUntil }) => {
    for (const record of expired) mirror.ended(record, tombstoneUntil);
  },
  expireWorkspaces: removed,
  expireTombstones: removed,
  active: 'at once',
  // Health and telemetry ask, and want to know how things are now.
  counts: 'at once',
  tryLock: 'waits',
  unlock: 'waits',
  lockHolder: 'waits',

  ping: 'at once',
};

const seen = (mirror: SessionMirror, file: FileRecord | undefined): void => {
  if (file !== undefined) mirror.filesSeen([file]);
};

const FILES: Steps<FileRecords, SessionMirror> = {
  begin: 'waits',
  reserve: (mirror, reserved) => reserved.state === 'reserved' && mirror.filesRemoved(reserved.evicted),
  commit: (mirror, committed, files) =>
    committed && mirror.filesSeen(files.map((record) => ({ ...record, state: 'committed' }))),
  revise: (mirror, revised, file) => revised && mirror.filesSeen([file]),
  lease: 'waits',
  release: (mirror, _, ...args) => mirror.store.files.release(...args),
  find: seen,
  use: seen,
  list: (mirror, files) => mirror.filesSeen(files),
  remove: (mirror, _, key) => mirror.filesRemoved([key]),
  purge: (mirror, _, session) => mirror.store.files.purge(session),
  expire: (mirror, files) => mirror.filesRemoved(files),
  purgeAbandoned: (mirror, files) => mirror.filesRemoved(files),
  known: 'waits',
  page: 'waits',
  ownerOf: 'waits',
  adopt: 'waits',
  totals: 'at once',
};

/** Those of an outage are others: a nonce that another replica might take as well would not be single-use. */
const NONCES: Steps<UploadNonces, never> = { issue: 'waits', find: 'waits', consume: 'waits' };

const FIRST_TEXTS: Steps<FirstTexts, never> = { find: 'waits', keep: 'waits' };

/** In an outage that is bridged, each replica limits by itself. */
const CALL_LIMITS: Steps<CallLimits, never> = { take: 'waits', renew: 'waits', leave: 'waits' };
