import { LUA } from './lua-scripts.ts';

/* One step of RedisLedger each. */

export const SOURCE = LUA.script('ledger/source');
export const PLAN = LUA.script('ledger/plan');
export const DUE = LUA.script('ledger/due');
export const BEGIN = LUA.script('ledger/begin');
export const LET_GO = LUA.script('ledger/let-go');
export const EXPORTING = LUA.script('ledger/exporting');
export const EXPORTED = LUA.script('ledger/exported');
export const FAILED = LUA.script('ledger/failed');
export const COMMIT = LUA.script('ledger/commit');
export const BACKFILL = LUA.script('ledger/backfill');
export const PAUSE = LUA.script('ledger/pause');
export const DEAD = LUA.script('ledger/dead');
export const REOPEN = LUA.script('ledger/reopen');
export const WINDOWS = LUA.script('ledger/windows');
export const SEEN = LUA.script('ledger/seen');
export const DROP_EXPIRED = LUA.script('ledger/drop-expired');
