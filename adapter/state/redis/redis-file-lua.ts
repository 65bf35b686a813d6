/*
 * What the scripts of redis-file-scripts.ts are put together from. Keys and arguments have the places that are said
 * there.
 */

/** What the session's hash says: active; active or a tombstone that its client may still find; not invalidated. */
export const SESSION = `
  local session = redis.call('HMGET', KEYS[1], 'principal', 'expiresAt', 'reason')
  local active = session[1] and not session[2]
  local alive = session[1] and not session[3]
  local function may_come_back(now)
    return alive and (active or tonumber(session[2]) > tonumber(now))
  end`;

export const FILE = `
  local function decode(field, value)
    local state, size, used, lease, uses, created, rest =
      string.match(value, '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)(.*)$')
    return {
      field = field, kind = string.sub(field, 1, 1), state = state, size = tonumber(size), used = tonumber(used),
      lease = tonumber(lease), uses = tonumber(uses), created = tonumber(created), rest = rest,
    }
  end
  local function encode(file)
    return string.format('%s %.0f %.0f %.0f %.0f %.0f', file.state, file.size, file.used, file.lease, file.uses,
      file.created) .. file.rest
  end
  local function read(field)
    local value = redis.call('HGET', KEYS[2], field)
    return value and decode(field, value)
  end
  local function is_there(file, now, ttl)
    return file and file.state == 'committed'
      and (ttl == '' or file.used + tonumber(ttl) > tonumber(now) or file.lease > tonumber(now))
  end`;

/** All files of the session. Fields that begin with # hold its totals. */
export const FILES = `
  local function files_of_session()
    local files = {}
    local all = redis.call('HGETALL', KEYS[2])
    for i = 1, #all, 2 do
      if string.sub(all[i], 1, 1) ~= '#' then files[#files + 1] = decode(all[i], all[i + 1]) end
    end
    return files
  end`;

const TOTALS = `
  local function bytes_of(key, prefix)
    local bytes = redis.call('HMGET', key, prefix .. 'ub', prefix .. 'ab')
    return tonumber(bytes[1] or 0) + tonumber(bytes[2] or 0)
  end`;

/** `write` and `drop` one file, then `finish` once. */
export const CHANGE = `
  ${TOTALS}
  local function index_of(file)
    if file.state == 'pending' then return KEYS[7] end
    return file.kind == 'u' and KEYS[5] or KEYS[6]
  end
  local function add(field, number)
    if number == 0 then return end
    redis.call('HINCRBY', KEYS[2], '#' .. field, number)
    redis.call('HINCRBY', KEYS[4], field, number)
  end
  local function count(file, sign)
    add(file.kind .. (file.state == 'pending' and 'p' or 'c'), sign)
    add(file.kind .. 'b', sign * file.size)
  end
  local function write(file, before)
    local member = ARGV[1] .. '\\n' .. file.field
    local index = index_of(file)
    redis.call('HSET', KEYS[2], file.field, encode(file))
    if before and index_of(before) ~= index then redis.call('ZREM', index_of(before), member) end
    redis.call('ZADD', index, file.state == 'pending' and file.lease or file.used, member)
    if not before then
      count(file, 1)
    elseif before.state ~= file.state or before.size ~= file.size then
      count(before, -1)
      count(file, 1)
    end
  end
  local function drop(file)
    redis.call('HDEL', KEYS[2], file.field)
    redis.call('ZREM', index_of(file), ARGV[1] .. '\\n' .. file.field)
    count(file, -1)
  end
  local function finish()
    local files = 0
    for _, number in ipairs(redis.call('HMGET', KEYS[2], '#uc', '#up', '#ac', '#ap')) do
      files = files + tonumber(number or 0)
    end
    if files > 0 then
      redis.call('ZADD', KEYS[3], bytes_of(KEYS[2], '#'), ARGV[1])
    else
      redis.call('DEL', KEYS[2])
      redis.call('ZREM', KEYS[3], ARGV[1])
    end
    for i = 2, 7 do redis.call('PEXPIRE', KEYS[i], ARGV[2]) end
  end
  local removed = {}
  local function remove(file)
    drop(file)
    removed[#removed + 1] = file.field
    removed[#removed + 1] = encode(file)
  end`;

/**
 * Notes the server of the session with the name ARGV[1] in the set `key`, so that a session's id is enough to find it.
 * `ttl` is that of files. The set lives as long as any session or file that it leads to, so it is never cut short.
 */
export const noteServer = (key: string, ttl: string): string => `
  redis.call('SADD', ${key}, string.match(ARGV[1], '^[^:]*'))
  if redis.call('PTTL', ${key}) < tonumber(${ttl}) then redis.call('PEXPIRE', ${key}, ${ttl}) end`;
