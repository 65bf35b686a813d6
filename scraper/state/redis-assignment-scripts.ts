import { LUA } from './lua-scripts.ts';

/* One step of RedisAssignment each. */

export const BEAT = LUA.script('assignment/beat');
export const CLAIM = LUA.script('assignment/claim');
export const RELEASE = LUA.script('assignment/release');
export const LEAVE = LUA.script('assignment/leave');
