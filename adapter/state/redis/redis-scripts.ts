import { repeatableScript, script } from './lua-scripts.ts';

/* One step of RedisStore each. */

export const RESERVE = repeatableScript('sessions/reserve');
export const OPEN = repeatableScript('sessions/open');
export const ENTER = repeatableScript('sessions/enter');
export const TOUCH = repeatableScript('sessions/touch');
export const RENEW = repeatableScript('sessions/renew');
export const LEAVE = repeatableScript('sessions/leave');
export const REVIVE = repeatableScript('sessions/revive');
export const REPLACE_UPSTREAM = repeatableScript('sessions/replace-upstream');
export const SET_LOG_LEVEL = repeatableScript('sessions/set-log-level');
export const SET_SUBSCRIPTION = repeatableScript('sessions/set-subscription');
export const DROP_LISTS = repeatableScript('sessions/drop-lists');
export const PIN = repeatableScript('sessions/pin');
export const REMOVE = script('sessions/remove');
export const INVALIDATE = repeatableScript('sessions/invalidate');
export const EXPIRE_IDLE = script('sessions/expire-idle');
export const EXPIRE_WORKSPACE = script('sessions/expire-workspace');
export const EXPIRE_TOMBSTONE = script('sessions/expire-tombstone');
export const COUNTS = repeatableScript('sessions/counts');

export const TRY_LOCK = repeatableScript('store/try-lock');
export const UNLOCK = repeatableScript('store/unlock');
export const SECRET = repeatableScript('store/secret');
