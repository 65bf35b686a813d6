import { redisScript } from '../../../lib/redis/redis-script.ts';
import { MAX_SESSION_FILES } from '../file-records.ts';
import { CHANGE, FILE, FILES, noteServer, SESSION } from './redis-file-lua.ts';
import { repeatableScript } from './repeatable.ts';

/*
 * One atomic step of RedisFiles each; the same decisions as in file-rules.ts. Keys are always given in the order
 * session, files, fileSessions, fileTotals, uploads, artifacts, pending, and one more where a script says so; the
 * first two arguments are the session's name and how long keys live. See redis-keys.ts for what the keys hold and
 * redis-file.ts for how a file is written. Every script leaves an expiry on every key that it writes.
 */

/** About how many files one step removes: Redis serves nobody else meanwhile. */
export const PURGED_AT_ONCE = 500;

const NOTE_SERVER = noteServer('KEYS[8]', 'ARGV[2]');

/** … servers · name, ttl, now, maxArtifacts or '', fields and files… → begun, no_session, taken, limit or full */
export const BEGIN = redisScript(`
  ${SESSION} ${FILE} ${FILES} ${CHANGE}
  if not active then return 'no_session' end
  local artifacts = 0
  for i = 5, #ARGV, 2 do
    if string.sub(ARGV[i], 1, 1) == 'a' then artifacts = artifacts + 1 end
    local there = read(ARGV[i])
    if there and there.state == 'committed' then return 'taken' end
  end
  local max = tonumber(ARGV[4])
  local counts = redis.call('HMGET', KEYS[2], '#ac', '#ap', '#uc', '#up')
  if max and artifacts > 0 and tonumber(counts[1] or 0) + tonumber(counts[2] or 0) + artifacts > max then
    for _, file in ipairs(files_of_session()) do
      local held = file.state == 'committed' or file.lease > tonumber(ARGV[3])
      if file.kind == 'a' and held then artifacts = artifacts + 1 end
    end
    if artifacts > max then return 'limit' end
  end
  local files = (#ARGV - 4) / 2
  for _, number in ipairs(counts) do files = files + tonumber(number or 0) end
  if files > ${MAX_SESSION_FILES} then return 'full' end
  for i = 5, #ARGV, 2 do write(decode(ARGV[i], ARGV[i + 1]), read(ARGV[i])) end
  finish()
  ${NOTE_SERVER}
  return 'begun'`);

/**
 * name, ttl, field, bytes, now, leaseUntil, maxTotal or '', maxSession or '', kind that goes first
 * → gone, session, storage, or fields and files that were evicted…
 */
export const RESERVE_BYTES = redisScript(`
  ${SESSION} ${FILE} ${FILES} ${CHANGE}
  local file = read(ARGV[3])
  if not active or not file or file.state ~= 'pending' then return 'gone' end
  local bytes, now, max_total, max_session = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[7]), tonumber(ARGV[8])
  local growth = bytes - file.size

  local evicted, free = {}, 0
  local excess = max_session and growth > 0 and bytes_of(KEYS[2], '#') + growth - max_session or 0
  if excess > 0 then
    local candidates = {}
    for _, other in ipairs(files_of_session()) do
      if other.state == 'committed' and other.lease <= now and other.size > 0 then
        candidates[#candidates + 1] = other
      end
    end
    -- Within a name the quotes would be escaped.
    local function spilled(file) return string.find(file.rest, '"spilled":true', 1, true) ~= nil end
    table.sort(candidates, function(a, b)
      if spilled(a) ~= spilled(b) then return spilled(a) end
      if a.kind ~= b.kind then return a.kind == ARGV[9] end
      if a.used ~= b.used then return a.used < b.used end
      if a.created ~= b.created then return a.created < b.created end
      return a.field < b.field
    end)
    for _, other in ipairs(candidates) do
      if free >= excess then break end
      evicted[#evicted + 1] = other
      free = free + other.size
    end
    if free < excess then return 'session' end
  end
  if max_total and growth > 0 and bytes_of(KEYS[4], '') - free + growth > max_total then return 'storage' end

  for _, other in ipairs(evicted) do remove(other) end
  write({
    field = file.field, kind = file.kind, state = file.state, size = bytes, used = file.used,
    lease = math.max(file.lease, tonumber(ARGV[6])), uses = file.uses, created = file.created, rest = file.rest,
  }, file)
  finish()
  return removed`);

/** … lock, if it must be held · name, ttl, owner of the lock, fields and files… → 1 or 0 */
export const COMMIT = redisScript(`
  ${SESSION} ${FILE} ${CHANGE}
  if not active then return 0 end
  if KEYS[8] and redis.call('GET', KEYS[8]) ~= ARGV[3] then return 0 end
  local before = {}
  for i = 4, #ARGV, 2 do
    before[i] = read(ARGV[i])
    if not before[i] or before[i].state ~= 'pending' then return 0 end
  end
  for i = 4, #ARGV, 2 do write(decode(ARGV[i], ARGV[i + 1]), before[i]) end
  finish()
  return 1`);

/** name, ttl, version that it must be of, field, file → 1 or 0 */
export const REVISE = redisScript(`
  ${SESSION} ${FILE} ${CHANGE}
  local before = read(ARGV[4])
  if not active or not before or before.state ~= 'committed' then return 0 end
  if (cjson.decode(before.rest).version or 1) ~= tonumber(ARGV[3]) then return 0 end
  local file = decode(ARGV[4], ARGV[5])
  file.lease, file.uses, file.used = before.lease, before.uses, math.max(before.used, file.used)
  write(file, before)
  finish()
  return 1`);

/** name, ttl, leaseUntil, fields… */
export const LEASE = repeatableScript(`
  ${FILE} ${CHANGE}
  for i = 4, #ARGV do
    local file = read(ARGV[i])
    if file and file.lease < tonumber(ARGV[3]) and (file.state == 'pending' or file.lease > 0) then
      file.lease = tonumber(ARGV[3])
      write(file, file)
    end
  end
  finish()`);

/** name, ttl, now, fields… */
export const RELEASE = redisScript(`
  ${FILE} ${CHANGE}
  for i = 4, #ARGV do
    local file = read(ARGV[i])
    if file and file.state == 'committed' then
      file.uses = math.max(0, file.uses - 1)
      file.used = math.max(file.used, tonumber(ARGV[3]))
      if file.uses == 0 then file.lease = 0 end
      write(file, file)
    end
  end
  finish()`);

/** session, files · field, now, ttlMs or '' → file or null */
export const FIND_FILE = repeatableScript(`
  ${SESSION} ${FILE}
  local file = read(ARGV[1])
  return is_there(file, ARGV[2], ARGV[3]) and may_come_back(ARGV[2]) and encode(file)`);

/** name, ttl, field, now, ttlMs or '', leaseUntil or 0 → file or null. A use that is counted twice ends with its lease. */
export const USE = repeatableScript(`
  ${SESSION} ${FILE} ${CHANGE}
  local file = read(ARGV[3])
  if not is_there(file, ARGV[4], ARGV[5]) or not may_come_back(ARGV[4]) then return false end
  local now, lease = tonumber(ARGV[4]), tonumber(ARGV[6])
  if file.lease <= now then file.uses = 0 end
  if lease > now then file.uses = file.uses + 1 end
  file.used = math.max(file.used, now)
  file.lease = math.max(file.lease, lease)
  write(file, file)
  redis.call('PEXPIRE', index_of(file), ARGV[2])
  return encode(file)`);

/** session, files · now → fields and files… */
export const LIST = repeatableScript(`
  ${SESSION}
  return may_come_back(ARGV[1]) and redis.call('HGETALL', KEYS[2]) or {}`);

/** name, ttl, field → file or null */
export const REMOVE_FILE = redisScript(`
  ${FILE} ${CHANGE}
  local file = read(ARGV[3])
  if not file then return false end
  drop(file)
  finish()
  return encode(file)`);

/**
 * name, ttl, 1 to do so only if the session is gone → 1 if there may be more, else 0, then fields and files that were
 * removed…; 0 alone if Redis has forgotten the session's files and the totals are wrong. What a scan has come past is
 * removed at once, so one that has come to its end has left nothing, wherever the hash was rebuilt meanwhile.
 */
export const PURGE = redisScript(`
  ${SESSION} ${FILE} ${CHANGE}
  if redis.call('EXISTS', KEYS[2]) == 0 then
    return redis.call('ZREM', KEYS[3], ARGV[1]) == 1 and 0 or { 0 }
  end
  if ARGV[3] == '1' and alive then return { 0 } end
  local cursor = '0'
  repeat
    local page = redis.call('HSCAN', KEYS[2], cursor, 'COUNT', ${PURGED_AT_ONCE / 10})
    cursor = page[1]
    for i = 1, #page[2], 2 do
      if string.sub(page[2][i], 1, 1) ~= '#' then remove(decode(page[2][i], page[2][i + 1])) end
    end
  until cursor == '0' or #removed >= ${2 * PURGED_AT_ONCE}
  finish()
  table.insert(removed, 1, cursor == '0' and 0 or 1)
  return removed`);

/**
 * name, ttl, now, upload ttl or '', artifact ttl or '', fields… → how many fields are in no index any more, then
 * fields and files that were removed…
 */
export const EXPIRE_FILES = redisScript(`
  ${FILE} ${CHANGE}
  local now = tonumber(ARGV[3])
  local ttls = { u = tonumber(ARGV[4]), a = tonumber(ARGV[5]) }
  local forgotten = 0
  for i = 6, #ARGV do
    local file = read(ARGV[i])
    if not file then
      for index = 5, 7 do forgotten = forgotten + redis.call('ZREM', KEYS[index], ARGV[1] .. '\\n' .. ARGV[i]) end
    elseif file.lease <= now then
      local ttl = ttls[file.kind]
      if file.state == 'pending' or (ttl and file.used + ttl <= now) then remove(file) end
    end
  end
  finish()
  table.insert(removed, 1, #removed / 2 + forgotten)
  return removed`);

/** sessions…, files… in the same order → places (from 0) of those whose session or whose files are gone */
export const GONE = repeatableScript(`
  local gone = {}
  for i = 1, #KEYS / 2 do
    local session = redis.call('HMGET', KEYS[i], 'principal', 'reason')
    if not session[1] or session[2] or redis.call('EXISTS', KEYS[#KEYS / 2 + i]) == 0 then gone[#gone + 1] = i - 1 end
  end
  return gone`);

/** … servers · name, ttl, fields and files… → how many were added */
export const ADOPT = redisScript(`
  ${SESSION} ${FILE} ${CHANGE}
  if not alive then return 0 end
  local adopted = 0
  for i = 3, #ARGV, 2 do
    if not read(ARGV[i]) then
      write(decode(ARGV[i], ARGV[i + 1]))
      adopted = adopted + 1
    end
  end
  finish()
  ${NOTE_SERVER}
  return adopted`);

/** … servers · name, ttl: lets everything about the session's files live as long as the session. */
export const KEEP = repeatableScript(`
  for i = 2, 7 do redis.call('PEXPIRE', KEYS[i], ARGV[2]) end
  ${NOTE_SERVER}`);

/**
 * fileSessions, fileTotals · what the keys of files begin with, ttl: sums the totals up anew. The keys of files are
 * not given because there is one for each session.
 */
export const RECOUNT = repeatableScript(`
  local sums = { uc = 0, up = 0, ub = 0, ac = 0, ap = 0, ab = 0 }
  for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    for field, sum in pairs(sums) do
      sums[field] = sum + tonumber(redis.call('HGET', ARGV[1] .. name, '#' .. field) or 0)
    end
  end
  for field, sum in pairs(sums) do redis.call('HSET', KEYS[2], field, sum) end
  redis.call('PEXPIRE', KEYS[2], ARGV[2])`);
