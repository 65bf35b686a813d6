-- The channel has the log's name, so that one rule of an ACL covers both.
--
-- keys: log, expected, calls, ages, sizes
-- arguments: carrier, message, what is kept of it, whether that is anything, whether it is the answer
-- returns: id, or null for what nobody waits for
-- needs: common/clock, logs/forget, MESSAGE_LOG_TTL_MS, LOG_LENGTH, LOG_BYTES, LOGS_BYTES, ENTRY_BYTES
local log, expected, calls, ages, sizes = unpack(KEYS)
local carrier, message, kept, is_kept, is_answer = unpack(ARGV)
-- How many logs that have expired are taken out of the account at once.
local EXPIRED_AT_ONCE = 100

local now = server_now()
local ends = redis.call('ZSCORE', expected, carrier)
local is_expected = (ends and tonumber(ends) > now) or redis.call('HEXISTS', calls, carrier) == 1
if is_answer == '1' then
  redis.call('ZREM', expected, carrier)
  redis.call('HDEL', calls, carrier)
end
if not is_expected then return false end

local dead = now - MESSAGE_LOG_TTL_MS
for _, old in ipairs(redis.call('ZRANGEBYSCORE', ages, '-inf', dead, 'LIMIT', 0, EXPIRED_AT_ONCE)) do
  forget(old, ages, sizes)
end
-- One of them may have gone in another way than here.
if redis.call('EXISTS', log) == 0 or redis.call('HEXISTS', sizes, log) == 0 then forget(log, ages, sizes) end
local before = tonumber(redis.call('HGET', sizes, log) or 0)
local size = before
local id = redis.call('XADD', log, '*', 'carrier', carrier, 'message', kept)
if is_kept == '1' then size = size + ENTRY_BYTES + #kept else redis.call('XDEL', log, id) end
while size > LOG_BYTES or redis.call('XLEN', log) > LOG_LENGTH do
  local oldest = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
  redis.call('XDEL', log, oldest[1])
  size = size - ENTRY_BYTES - #oldest[2][4]
end
redis.call('HSET', sizes, log, size)
redis.call('ZADD', ages, now, log)
local total = redis.call('HINCRBY', sizes, 'total', size - before)
while total > LOGS_BYTES do
  forget(redis.call('ZRANGE', ages, 0, 0)[1], ages, sizes)
  total = tonumber(redis.call('HGET', sizes, 'total'))
end
for _, key in ipairs({ log, ages, sizes }) do redis.call('PEXPIRE', key, MESSAGE_LOG_TTL_MS) end
redis.call('PUBLISH', log, id .. '\n' .. carrier .. '\n' .. message)
return id
