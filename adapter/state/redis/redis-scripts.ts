import { redisScript } from '../../../lib/redis/redis-script.ts';
import { noteServer } from './redis-file-lua.ts';
import { LEAVE_PLACES, TAKE_LIMITS } from './redis-limit-lua.ts';
import { repeatableScript } from './repeatable.ts';
import { FIELD_NAMES } from '../session-fields.ts';

/*
 * One atomic step of RedisStore each. Keys are always given in the order hash, leases, active, inFlight, tombstones,
 * reservations, as far as the script needs them; see redis-keys.ts for what they hold. Every script leaves an expiry
 * on every key that it writes. One that is not repeatable returns to one caller only what it takes away.
 */

/** The hash fields of a session, in the order in which scripts return them. Absent fields stand for null. */
export const HASH_FIELDS = [...FIELD_NAMES, 'expiresAt', 'reason', 'renewedAt'] as const;

const index = (field: (typeof HASH_FIELDS)[number]): number => HASH_FIELDS.indexOf(field) + 1;
const PRINCIPAL = `session[${index('principal')}]`;
const LAST_ACTIVE = `session[${index('lastActiveAt')}]`;
const EXPIRES = `session[${index('expiresAt')}]`;
const REASON = `session[${index('reason')}]`;
const RENEWED = `session[${index('renewedAt')}]`;

const READ_SESSION = `
  local session = redis.call('HMGET', KEYS[1], ${HASH_FIELDS.map((field) => `'${field}'`).join(', ')})`;

/** Drops the session's leases in both places that know them. */
const DROP_LEASES = `
  local function drop_leases(leases, in_flight, member)
    for _, id in ipairs(redis.call('ZRANGE', leases, 0, -1)) do
      redis.call('ZREM', in_flight, member .. '\\n' .. id)
    end
    redis.call('DEL', leases)
  end`;

/** Lets the key live at least until the given time. */
export const LIVE_UNTIL = `
  local function live_until(key, at)
    if redis.call('PEXPIRETIME', key) < tonumber(at) then redis.call('PEXPIREAT', key, at) end
  end`;

/** Active sessions and reservations that still count. `dead`: sessions last active before it have expired. */
const PLACES_TAKEN = `
  local function places_taken(active, reservations, now, dead)
    redis.call('ZREMRANGEBYSCORE', active, '-inf', '(' .. dead)
    redis.call('ZREMRANGEBYSCORE', reservations, '-inf', now)
    return redis.call('ZCARD', active) + redis.call('ZCARD', reservations)
  end`;

/** Notes that an active session was used; returns when it was used last. */
const NOTE_ACTIVITY = `
  local function note_activity(last_active, now)
    if tonumber(now) <= tonumber(last_active) then return last_active end
    redis.call('HSET', KEYS[1], 'lastActiveAt', now)
    redis.call('ZADD', KEYS[3], now, ARGV[1])
    return now
  end`;

/** Renews the expiry of an active session if that was last done before `renew_before`; whether it did. */
const RENEW_EXPIRY = `
  local function renew_expiry(renewed, now, ttl, renew_before)
    if tonumber(renewed) >= tonumber(renew_before) then return false end
    redis.call('HSET', KEYS[1], 'renewedAt', now)
    redis.call('PEXPIRE', KEYS[1], ttl)
    redis.call('PEXPIRE', KEYS[3], ttl)
    return true
  end`;

/** active, reservations · member, maxActive, now, dead, expiresAt, ttl → 1 or 0 */
export const RESERVE = repeatableScript(`
  ${PLACES_TAKEN}
  redis.call('ZREM', KEYS[2], ARGV[1])
  if places_taken(KEYS[1], KEYS[2], ARGV[3], ARGV[4]) >= tonumber(ARGV[2]) then return 0 end
  redis.call('ZADD', KEYS[2], ARGV[5], ARGV[1])
  redis.call('PEXPIRE', KEYS[2], ARGV[6])
  return 1`);

/**
 * hash, leases, active, inFlight, tombstones, reservations, servers, and workspaces for one
 * · member, lastActiveAt, ttl, ttl of files, fields and values…
 */
export const OPEN = repeatableScript(`
  ${DROP_LEASES}
  drop_leases(KEYS[2], KEYS[4], ARGV[1])
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], unpack(ARGV, 5))
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.call('ZADD', KEYS[3], ARGV[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[3], ARGV[3])
  redis.call('ZREM', KEYS[5], ARGV[1])
  redis.call('ZREM', KEYS[6], ARGV[1])
  ${noteServer('KEYS[7]', 'ARGV[4]')}
  if KEYS[8] then
    redis.call('ZADD', KEYS[8], ARGV[2], ARGV[1])
    redis.call('PEXPIRE', KEYS[8], ARGV[3])
  end`);

/**
 * hash, leases, active, inFlight, and those of limits…
 * · member, principal, now, lease id, until, maxInFlight or '', ttl, renewBefore, 1: uncounted or 0, and those of limits…
 * → session, or 0 at the limit of the session, or what else refuses
 */
export const ENTER = repeatableScript(`
  ${READ_SESSION}
  ${NOTE_ACTIVITY}
  ${RENEW_EXPIRY}
  ${LIVE_UNTIL}
  ${TAKE_LIMITS}
  if ${PRINCIPAL} ~= ARGV[2] or ${EXPIRES} then return session end
  if ARGV[6] ~= '' then
    redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[3])
    local full = redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[6])
    if full and not redis.call('ZSCORE', KEYS[2], ARGV[4]) then return 0 end
  end
  if #KEYS > 4 and not redis.call('ZSCORE', KEYS[2], ARGV[4]) then
    local refused = take_limits(5, 10, ARGV[3], ARGV[4], ARGV[5])
    if refused then return refused end
  end
  if ARGV[9] == '0' then
    redis.call('ZADD', KEYS[2], ARGV[5], ARGV[4])
    redis.call('PEXPIRE', KEYS[2], ARGV[7])
    redis.call('ZADD', KEYS[4], ARGV[5], ARGV[1] .. '\\n' .. ARGV[4])
    redis.call('PEXPIRE', KEYS[4], ARGV[7])
  end
  ${LAST_ACTIVE} = note_activity(${LAST_ACTIVE}, ARGV[3])
  renew_expiry(${RENEWED}, ARGV[3], ARGV[7], ARGV[8])
  return session`);

/** hash, leases, active · member, principal, now, ttl, renewBefore → session */
export const TOUCH = repeatableScript(`
  ${READ_SESSION}
  ${NOTE_ACTIVITY}
  ${RENEW_EXPIRY}
  if ${PRINCIPAL} ~= ARGV[2] or ${EXPIRES} then return session end
  ${LAST_ACTIVE} = note_activity(${LAST_ACTIVE}, ARGV[3])
  renew_expiry(${RENEWED}, ARGV[3], ARGV[4], ARGV[5])
  return session`);

/** hash, leases, active, inFlight · member, now, ttl, renewBefore, id and until… → 1 when the expiry was renewed */
export const RENEW = repeatableScript(`
  ${NOTE_ACTIVITY}
  ${RENEW_EXPIRY}
  local running = false
  for i = 5, #ARGV, 2 do
    if redis.call('ZSCORE', KEYS[2], ARGV[i]) then
      running = true
      redis.call('ZADD', KEYS[2], ARGV[i + 1], ARGV[i])
      redis.call('ZADD', KEYS[4], ARGV[i + 1], ARGV[1] .. '\\n' .. ARGV[i])
      redis.call('PEXPIRE', KEYS[2], ARGV[3])
      redis.call('PEXPIRE', KEYS[4], ARGV[3])
    end
  end
  local known = redis.call('HMGET', KEYS[1], 'lastActiveAt', 'renewedAt')
  if not running or not known[1] then return 0 end
  note_activity(known[1], ARGV[2])
  return renew_expiry(known[2], ARGV[2], ARGV[3], ARGV[4]) and 1 or 0`);

/**
 * hash, leases, active, inFlight, places… · member, id, now, calls of places… The expiry was renewed when the call began, or
 * since.
 */
export const LEAVE = repeatableScript(`
  ${NOTE_ACTIVITY}
  ${LEAVE_PLACES}
  leave_places(5, 4, ARGV[2])
  redis.call('ZREM', KEYS[4], ARGV[1] .. '\\n' .. ARGV[2])
  if redis.call('ZREM', KEYS[2], ARGV[2]) == 0 then return end
  local last_active = redis.call('HGET', KEYS[1], 'lastActiveAt')
  if last_active then note_activity(last_active, ARGV[3]) end`);

/** hash, active, tombstones, reservations · member, principal, now, maxActive or '', dead, ttl → session, or 0 */
export const REVIVE = repeatableScript(`
  ${READ_SESSION}
  ${PLACES_TAKEN}
  if ${PRINCIPAL} ~= ARGV[2] or ${REASON} or not ${EXPIRES} then return session end
  if tonumber(${EXPIRES}) <= tonumber(ARGV[3]) then return session end
  if ARGV[4] ~= '' and places_taken(KEYS[2], KEYS[4], ARGV[3], ARGV[5]) >= tonumber(ARGV[4]) then return 0 end
  redis.call('HDEL', KEYS[1], 'expiresAt')
  redis.call('HSET', KEYS[1], 'lastActiveAt', ARGV[3], 'renewedAt', ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[6])
  redis.call('ZREM', KEYS[3], ARGV[1])
  redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
  redis.call('PEXPIRE', KEYS[2], ARGV[6])
  ${EXPIRES} = false
  ${LAST_ACTIVE} = ARGV[3]
  return session`);

/**
 * hash · generation, next generation, protocolVersion, then the upstream session id if there is one → 1 or 0; 1 also when
 * just that is stored, since the answer to the first attempt may have been lost
 */
export const REPLACE_UPSTREAM = repeatableScript(`
  local stored = redis.call('HMGET', KEYS[1], 'generation', 'expiresAt', 'upstreamSessionId')
  if ARGV[4] and stored[3] == ARGV[4] and stored[1] == ARGV[2] and not stored[2] then return 1 end
  if stored[1] ~= ARGV[1] or stored[2] then return 0 end
  redis.call('HSET', KEYS[1], 'generation', ARGV[2], 'protocolVersion', ARGV[3])
  if ARGV[4] then redis.call('HSET', KEYS[1], 'upstreamSessionId', ARGV[4])
  else redis.call('HDEL', KEYS[1], 'upstreamSessionId') end
  return 1`);

/** hash · params */
export const SET_LOG_LEVEL = repeatableScript(`
  if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], 'logLevel', ARGV[1]) end`);

/** hash · uri, 1 or 0, the most subscriptions, the most bytes of them. An empty table would become {}, not []. */
export const SET_SUBSCRIPTION = repeatableScript(`
  local stored = redis.call('HGET', KEYS[1], 'subscriptions')
  if not stored then return end
  local uris = {}
  for _, uri in ipairs(cjson.decode(stored)) do
    if uri ~= ARGV[1] then uris[#uris + 1] = uri
    elseif ARGV[2] == '1' then return end
  end
  if ARGV[2] == '1' then
    if #uris >= tonumber(ARGV[3]) or #stored + #ARGV[1] > tonumber(ARGV[4]) then return end
    uris[#uris + 1] = ARGV[1]
  end
  redis.call('HSET', KEYS[1], 'subscriptions', #uris == 0 and '[]' or cjson.encode(uris))`);

/** hash */
export const DROP_LISTS = repeatableScript(`
  if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HINCRBY', KEYS[1], 'listsGeneration', 1) end`);

/**
 * hash · fingerprint, text → 1 when that is pinned now, what is pinned if it is something else, null without an active
 * session. The text is a field that HASH_FIELDS leaves out: it lives and ends with the session, and is read when asked for.
 */
export const PIN = repeatableScript(`
  local stored = redis.call('HMGET', KEYS[1], 'principal', 'expiresAt', 'baseline')
  if not stored[1] or stored[2] then return false end
  if stored[3] == ARGV[1] then return 1 end
  if stored[3] then return { stored[3], redis.call('HGET', KEYS[1], 'baselineText') } end
  redis.call('HSET', KEYS[1], 'baseline', ARGV[1], 'baselineText', ARGV[2])
  return 1`);

/** hash, leases, active, inFlight, tombstones · member → session */
export const REMOVE = redisScript(`
  ${READ_SESSION}
  ${DROP_LEASES}
  drop_leases(KEYS[2], KEYS[4], ARGV[1])
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[3], ARGV[1])
  redis.call('ZREM', KEYS[5], ARGV[1])
  return session`);

/** hash, leases, active, inFlight, tombstones · member, reason, expiresAt, live until → 1 or 0 */
export const INVALIDATE = repeatableScript(`
  ${READ_SESSION}
  ${DROP_LEASES}
  ${LIVE_UNTIL}
  if not ${PRINCIPAL} then return 0 end
  if ${REASON} then return 1 end
  drop_leases(KEYS[2], KEYS[4], ARGV[1])
  redis.call('HSET', KEYS[1], 'expiresAt', ARGV[3], 'reason', ARGV[2])
  redis.call('PEXPIREAT', KEYS[1], ARGV[4])
  redis.call('ZREM', KEYS[3], ARGV[1])
  redis.call('ZADD', KEYS[5], ARGV[3], ARGV[1])
  live_until(KEYS[5], ARGV[4])
  return 1`);

/**
 * hash, leases, active, inFlight, tombstones, and what is known of its files…
 * · member, now, idleBefore, tombstone until or '', live until, files live until
 * → session, 0 when it is gone or active again, 1 when it is kept for its calls
 */
export const EXPIRE_IDLE = redisScript(`
  ${READ_SESSION}
  ${DROP_LEASES}
  ${LIVE_UNTIL}
  if not ${PRINCIPAL} or ${EXPIRES} then
    redis.call('ZREM', KEYS[3], ARGV[1])
    return 0
  end
  if tonumber(${LAST_ACTIVE}) >= tonumber(ARGV[3]) then return 0 end
  if redis.call('ZCOUNT', KEYS[2], '(' .. ARGV[2], '+inf') > 0 then return 1 end
  drop_leases(KEYS[2], KEYS[4], ARGV[1])
  redis.call('ZREM', KEYS[3], ARGV[1])
  if ARGV[4] == '' then
    redis.call('DEL', KEYS[1])
  else
    redis.call('HSET', KEYS[1], 'expiresAt', ARGV[4], 'upstreamSessionId', '')
    redis.call('PEXPIREAT', KEYS[1], ARGV[5])
    redis.call('ZADD', KEYS[5], ARGV[4], ARGV[1])
    live_until(KEYS[5], ARGV[5])
    for i = 6, #KEYS do live_until(KEYS[i], ARGV[6]) end
  end
  return session`);

/**
 * hash, leases, active, inFlight, tombstones, workspaces, files · member, now, idleBefore, ttl
 * → session, 0 when it is gone or was used since, 1 when it is kept for its calls or files
 */
export const EXPIRE_WORKSPACE = redisScript(`
  ${READ_SESSION}
  ${DROP_LEASES}
  if not ${PRINCIPAL} or ${EXPIRES} then
    redis.call('ZREM', KEYS[6], ARGV[1])
    return 0
  end
  if tonumber(${LAST_ACTIVE}) >= tonumber(ARGV[3]) then
    redis.call('ZADD', KEYS[6], ${LAST_ACTIVE}, ARGV[1])
    redis.call('PEXPIRE', KEYS[6], ARGV[4])
    return 0
  end
  if redis.call('ZCOUNT', KEYS[2], '(' .. ARGV[2], '+inf') > 0 or redis.call('EXISTS', KEYS[7]) == 1 then return 1 end
  drop_leases(KEYS[2], KEYS[4], ARGV[1])
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[3], ARGV[1])
  redis.call('ZREM', KEYS[6], ARGV[1])
  return session`);

/** hash, tombstones · member, now → session, or 0 when another client has it or it was revived */
export const EXPIRE_TOMBSTONE = redisScript(`
  ${READ_SESSION}
  if ${EXPIRES} and tonumber(${EXPIRES}) > tonumber(ARGV[2]) then return 0 end
  redis.call('ZREM', KEYS[2], ARGV[1])
  if not ${EXPIRES} then return 0 end
  redis.call('DEL', KEYS[1])
  return session`);

/** active, inFlight, tombstones · now, dead → sessions, tombstones, calls in flight */
export const COUNTS = repeatableScript(`
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[2])
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[1])
  return {
    redis.call('ZCARD', KEYS[1]),
    redis.call('ZCOUNT', KEYS[3], '(' .. ARGV[1], '+inf'),
    redis.call('ZCARD', KEYS[2]),
  }`);

/** lock · owner, ttl → 1 or 0 */
export const TRY_LOCK = repeatableScript(`
  local owner = redis.call('GET', KEYS[1])
  if owner and owner ~= ARGV[1] then return 0 end
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 1`);

/** lock · owner */
export const UNLOCK = repeatableScript(`
  if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`);

/** secret · new secret, ttl → the secret */
export const SECRET = repeatableScript(`
  redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return redis.call('GET', KEYS[1])`);
