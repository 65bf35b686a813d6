import { redisScript, type RedisScript } from '../../lib/redis/redis-script.ts';
import { MOMENT, SOURCE_KEPT_MS, WINDOWS_KEPT } from './ledger.ts';

/*
 * One atomic step of RedisLedger each. KEYS 1 to 7 are those of `RedisKeys.ledger`: source, windows, due, due_backfill,
 * uncommitted, dead, committed. Times are milliseconds since the epoch. A window is one text:
 * kind, state, may repeat (0 or 1), attempts, start, end, at, and the error, with blanks between.
 */

const PRELUDE = `
  local function read(id)
    local text = redis.call('HGET', KEYS[2], id)
    if not text then return nil end
    local w = {}
    w.kind, w.state, w.may, w.attempts, w.start, w.stop, w.at, w.error =
      string.match(text, '^(%a+) (%a+) (%d) (%d+) (%-?%d+) (%-?%d+) (%-?%d+) (.*)$')
    return w
  end

  local function put(id, w)
    local text = table.concat({ w.kind, w.state, w.may, w.attempts, w.start, w.stop, w.at, w.error }, ' ')
    redis.call('HSET', KEYS[2], id, text)
    local is_open = w.state ~= 'committed' and w.state ~= 'dead'
    local due = w.kind == 'scheduled' and KEYS[3] or KEYS[4]
    if is_open then redis.call('ZADD', due, w.at, id) else redis.call('ZREM', due, id) end
    if w.kind == 'scheduled' then
      if w.state == 'committed' then redis.call('ZREM', KEYS[5], id) else redis.call('ZADD', KEYS[5], w.start, id) end
    end
    if w.state == 'dead' then redis.call('ZADD', KEYS[6], w.start, id) else redis.call('ZREM', KEYS[6], id) end
    if w.state == 'committed' then redis.call('ZADD', KEYS[7], w.at, id) else redis.call('ZREM', KEYS[7], id) end
  end

  local function drop(id)
    redis.call('HDEL', KEYS[2], id)
    for i = 3, 7 do redis.call('ZREM', KEYS[i], id) end
  end

  local function open(kind, start, stop, at, may)
    local id = kind .. ':' .. start .. '-' .. stop
    local w = read(id)
    if w and w.state ~= 'committed' then return 0 end
    put(id, { kind = kind, state = 'open', may = may, attempts = '0', start = start, stop = stop, at = at, error = '' })
    return 1
  end

  local function ended(id) redis.call('HDEL', KEYS[1], 'begun:' .. id, 'begun:${MOMENT}') end

  local function keep()
    for i = 1, 7 do redis.call('PEXPIRE', KEYS[i], ${SOURCE_KEPT_MS}) end
  end

  local function wake_owner() redis.call('HINCRBY', KEYS[1], 'asked', 1) end

  local function owns(token) return redis.call('HGET', KEYS[1], 'token') == token end`;

const step = (source: string): RedisScript => redisScript(`${PRELUDE}\n${source}`);

/** Of an open window w with this id, for who has the token; 0 otherwise. */
const OPEN_WINDOW = `
  if not owns(ARGV[1]) then return 0 end
  local id = ARGV[2]
  local w = read(id)
  if not w or w.state == 'committed' or w.state == 'dead' then return 0 end`;

/** 1–7, the original's last success → plannedUntil, lastCommitAt, paused, last success, first uncommitted, open, dead */
export const SOURCE = redisScript(`
  local meta = redis.call('HMGET', KEYS[1], 'plannedUntil', 'lastCommitAt', 'paused')
  local first = redis.call('ZRANGE', KEYS[5], 0, 0, 'WITHSCORES')
  return {
    meta[1], meta[2], meta[3], redis.call('GET', KEYS[8]), first[2] or false,
    redis.call('ZCARD', KEYS[3]) + redis.call('ZCARD', KEYS[4]), redis.call('ZCARD', KEYS[6])
  }`);

/**
 * 1–7, the original's last success and index, fp_until
 * · token, from or '', plannedUntil, the last success that the caller has read or '', start of the original's fingerprint
 *   keys, windows (start and end each, comma between)
 * → 1, 0, or the text of the original's last success, when it counts and the caller has not read it
 *
 * A source that is planned for the first time inherits the original's fingerprints with the time that these have left.
 */
export const PLAN = step(`
  if not owns(ARGV[1]) then return 0 end
  local planned = redis.call('HGET', KEYS[1], 'plannedUntil')
  if planned then
    if planned ~= ARGV[2] then return 0 end
  else
    local original = redis.call('GET', KEYS[8]) or ''
    if original ~= ARGV[4] then return original end
    if original == '' and ARGV[2] ~= '' then return 0 end
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    for _, hash in ipairs(redis.call('ZRANGE', KEYS[9], 0, -1)) do
      local left = redis.call('PTTL', ARGV[5] .. hash)
      if left > 0 and #hash == 64 then
        local bytes = string.gsub(hash, '..', function(hex) return string.char(tonumber(hex, 16)) end)
        redis.call('ZADD', KEYS[10], string.format('%.0f', now + left), bytes)
        if redis.call('PTTL', KEYS[10]) < left then redis.call('PEXPIRE', KEYS[10], left) end
      end
    end
  end
  redis.call('HSET', KEYS[1], 'plannedUntil', ARGV[3])
  for start, stop in string.gmatch(ARGV[6], '(%-?%d+),(%-?%d+)') do open('scheduled', start, stop, start, '0') end
  keep()
  return 1`);

/** 1–7 · now, limit → id, window, id, window, … */
export const DUE = redisScript(`
  local limit = tonumber(ARGV[2])
  local found = {}
  for i = 3, 4 do
    if limit > 0 then
      for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[i], '-inf', ARGV[1], 'LIMIT', 0, limit)) do
        found[#found + 1] = id
        found[#found + 1] = redis.call('HGET', KEYS[2], id)
        limit = limit - 1
      end
    end
  end
  return found`);

/** 1–7 · token, id → how often it was begun before without an end; -1: the token is old */
export const BEGIN = step(`
  if not owns(ARGV[1]) then return -1 end
  return redis.call('HINCRBY', KEYS[1], 'begun:' .. ARGV[2], 1) - 1`);

/** 1–7 · id */
export const LET_GO = step(`
  local field = 'begun:' .. ARGV[1]
  if redis.call('HEXISTS', KEYS[1], field) == 1 and redis.call('HINCRBY', KEYS[1], field, -1) < 1 then
    redis.call('HDEL', KEYS[1], field)
  end
  return 1`);

/** 1–7 · token, id → 1 or 0 */
export const EXPORTING = step(`${OPEN_WINDOW}
  if w.state ~= 'open' then w.may = '1' end
  w.state = 'exporting'
  put(id, w)
  return 1`);

/** 1–7 · token, id → 1 or 0 */
export const EXPORTED = step(`${OPEN_WINDOW}
  w.state = 'exported'
  put(id, w)
  return 1`);

/** 1–7 · token, id, next attempt at or '', now, may have arrived (0 or 1), error, replaced (0 or 1) → 1 or 0 */
export const FAILED = step(`${OPEN_WINDOW}
  if ARGV[5] == '1' or w.state == 'exported' then w.may = '1' end
  if ARGV[7] ~= '1' then ended(id) end
  w.attempts = tostring(tonumber(w.attempts) + 1)
  w.error = ARGV[6]
  w.state = ARGV[3] == '' and 'dead' or 'open'
  w.at = ARGV[3] == '' and ARGV[4] or ARGV[3]
  if w.state == 'dead' and w.start ~= w.stop then
    for _, other in ipairs(redis.call('ZRANGE', KEYS[6], 0, -1)) do
      local o = read(other)
      local touches = o.stop == w.start or o.start == w.stop
      if o.kind == w.kind and o.start ~= o.stop and touches then
        if o.stop == w.start then w.start = o.start else w.stop = o.stop end
        if o.may == '1' then w.may = '1' end
        drop(other)
      end
    end
    drop(id)
    id = w.kind .. ':' .. w.start .. '-' .. w.stop
  end
  put(id, w)
  if w.state == 'dead' and w.start == w.stop then
    local moments = {}
    for _, other in ipairs(redis.call('ZRANGE', KEYS[6], 0, -1)) do
      local o = read(other)
      if o.start == o.stop then moments[#moments + 1] = other end
    end
    for i = 1, #moments - ${WINDOWS_KEPT} do drop(moments[i]) end
  end
  keep()
  return 1`);

/** 1–7, fp_until · token, id, now, until, most fingerprints, fingerprints of 32 bytes each → 1 or 0 */
export const COMMIT = step(`
  if not owns(ARGV[1]) then return 0 end
  local id, now, till = ARGV[2], ARGV[3], ARGV[4]
  local w = read(id)
  if not w then return 0 end
  w.state, w.at, w.error = 'committed', now, ''
  put(id, w)
  ended(id)
  redis.call('HSET', KEYS[1], 'lastCommitAt', now)
  local excess = redis.call('ZCARD', KEYS[7]) - ${WINDOWS_KEPT}
  if excess > 0 then
    for _, old in ipairs(redis.call('ZRANGE', KEYS[7], 0, excess - 1)) do drop(old) end
  end
  local blob, pairs_of = ARGV[6], {}
  for at = 1, #blob, 32 do
    pairs_of[#pairs_of + 1] = till
    pairs_of[#pairs_of + 1] = string.sub(blob, at, at + 31)
    if #pairs_of == 2000 then
      redis.call('ZADD', KEYS[8], unpack(pairs_of))
      pairs_of = {}
    end
  end
  if #pairs_of > 0 then redis.call('ZADD', KEYS[8], unpack(pairs_of)) end
  if #blob > 0 then
    redis.call('ZREMRANGEBYSCORE', KEYS[8], '-inf', '(' .. now)
    local extra = redis.call('ZCARD', KEYS[8]) - tonumber(ARGV[5])
    if extra > 0 then redis.call('ZREMRANGEBYRANK', KEYS[8], 0, extra - 1) end
    local last = redis.call('ZRANGE', KEYS[8], -1, -1, 'WITHSCORES')[2]
    if last then redis.call('PEXPIRE', KEYS[8], math.max(1, tonumber(last) - tonumber(now))) end
  end
  keep()
  return 1`);

/** 1–7 · now, windows → how many were not open already */
export const BACKFILL = step(`
  local added = 0
  for start, stop in string.gmatch(ARGV[2], '(%-?%d+),(%-?%d+)') do
    added = added + open('backfill', start, stop, start, '0')
  end
  wake_owner()
  keep()
  return added`);

/** 1–7 · 0 or 1 */
export const PAUSE = step(`
  redis.call('HSET', KEYS[1], 'paused', ARGV[1])
  wake_owner()
  keep()
  return 1`);

/** 1–7 → id, window, id, window, … */
export const DEAD = redisScript(`
  local found = {}
  for _, id in ipairs(redis.call('ZRANGE', KEYS[6], 0, -1)) do
    found[#found + 1] = id
    found[#found + 1] = redis.call('HGET', KEYS[2], id)
  end
  return found`);

/** 1–7 · id, now, the windows that take its place from its start on → 1, or 0 when it is not dead any more */
export const REOPEN = step(`
  local w = read(ARGV[1])
  if not w or w.state ~= 'dead' or ARGV[3] == '' then return 0 end
  drop(ARGV[1])
  for start, stop in string.gmatch(ARGV[3], '(%-?%d+),(%-?%d+)') do
    open(w.kind, start, stop, ARGV[2], w.may)
    w.start = stop
  end
  local rest = w.kind .. ':' .. w.start .. '-' .. w.stop
  local other = read(rest)
  if tonumber(w.start) < tonumber(w.stop) and (not other or other.state == 'committed') then put(rest, w) end
  wake_owner()
  keep()
  return 1`);

/** windows → id, window, id, window, … */
export const WINDOWS = redisScript(`return redis.call('HGETALL', KEYS[1])`);

/** fp_until · now, fingerprints of 32 bytes each → a text of as many digits, 1 for those that are known */
export const SEEN = redisScript(`
  local blob, now, found = ARGV[2], tonumber(ARGV[1]), {}
  local hashes = {}
  local function look()
    for _, till in ipairs(redis.call('ZMSCORE', KEYS[1], unpack(hashes))) do
      found[#found + 1] = till and tonumber(till) >= now and '1' or '0'
    end
    hashes = {}
  end
  for at = 1, #blob, 32 do
    hashes[#hashes + 1] = string.sub(blob, at, at + 31)
    if #hashes == 2000 then look() end
  end
  if #hashes > 0 then look() end
  return table.concat(found)`);

/** fp_until of several sources · now → how many were removed */
export const DROP_EXPIRED = redisScript(`
  local removed = 0
  for _, key in ipairs(KEYS) do removed = removed + redis.call('ZREMRANGEBYSCORE', key, '-inf', '(' .. ARGV[1]) end
  return removed`);
