import { repeatableScript, script } from './lua-scripts.ts';

/*
 * One step of RedisFiles each; the same decisions as in file-rules.ts. See redis-file.ts for how a file is written.
 */

export const BEGIN = script('files/begin');
export const RESERVE_BYTES = script('files/reserve-bytes');
export const COMMIT = script('files/commit');
export const REVISE = script('files/revise');
export const LEASE = repeatableScript('files/lease');
export const RELEASE = script('files/release');
export const FIND_FILE = repeatableScript('files/find');
export const USE = repeatableScript('files/use');
export const LIST = repeatableScript('files/list');
export const REMOVE_FILE = script('files/remove');
export const PURGE = script('files/purge');
export const EXPIRE_FILES = script('files/expire');
export const GONE = repeatableScript('files/gone');
export const ADOPT = script('files/adopt');
export const KEEP = repeatableScript('files/keep');
export const RECOUNT = repeatableScript('files/recount');
