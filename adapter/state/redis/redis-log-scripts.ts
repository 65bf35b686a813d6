import { redisScript } from '../../../lib/redis/redis-script.ts';
import { MESSAGE_LOG_TTL_MS } from '../message-bus.ts';
import { repeatableScript } from './repeatable.ts';
import { LOG_LENGTH, LOG_BYTES, LOGS_BYTES, ENTRY_BYTES, MAX_EXPECTED } from '../../limits.ts';

/** How many logs that have expired are taken out of the account at once. */
const EXPIRED_AT_ONCE = 100;

const NOW = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/** Deletes a log, and gives its bytes back. */
const FORGET = `
  local function forget(log, ages, sizes)
    local size = redis.call('HGET', sizes, log)
    redis.call('DEL', log)
    redis.call('ZREM', ages, log)
    if not size then return end
    redis.call('HDEL', sizes, log)
    redis.call('HINCRBY', sizes, 'total', -size)
  end`;

/**
 * log, expected, calls, ages, sizes · carrier, message, what is kept of it, whether that is anything, whether it is the
 * answer → id, or nil for what nobody waits for. The channel has the log's name, so that one rule of an ACL covers both.
 */
export const APPEND = redisScript(`
  ${NOW}
  ${FORGET}
  local log, expected, calls, ages, sizes = unpack(KEYS)
  local carrier, message, kept, is_kept, is_answer = unpack(ARGV)
  local ends = redis.call('ZSCORE', expected, carrier)
  local is_expected = (ends and tonumber(ends) > now) or redis.call('HEXISTS', calls, carrier) == 1
  if is_answer == '1' then
    redis.call('ZREM', expected, carrier)
    redis.call('HDEL', calls, carrier)
  end
  if not is_expected then return false end

  local dead = now - ${MESSAGE_LOG_TTL_MS}
  for _, old in ipairs(redis.call('ZRANGEBYSCORE', ages, '-inf', dead, 'LIMIT', 0, ${EXPIRED_AT_ONCE})) do
    forget(old, ages, sizes)
  end
  -- One of them may have gone in another way than here.
  if redis.call('EXISTS', log) == 0 or redis.call('HEXISTS', sizes, log) == 0 then forget(log, ages, sizes) end
  local before = tonumber(redis.call('HGET', sizes, log) or 0)
  local size = before
  local id = redis.call('XADD', log, '*', 'carrier', carrier, 'message', kept)
  if is_kept == '1' then size = size + ${ENTRY_BYTES} + #kept else redis.call('XDEL', log, id) end
  while size > ${LOG_BYTES} or redis.call('XLEN', log) > ${LOG_LENGTH} do
    local oldest = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
    redis.call('XDEL', log, oldest[1])
    size = size - ${ENTRY_BYTES} - #oldest[2][4]
  end
  redis.call('HSET', sizes, log, size)
  redis.call('ZADD', ages, now, log)
  local total = redis.call('HINCRBY', sizes, 'total', size - before)
  while total > ${LOGS_BYTES} do
    forget(redis.call('ZRANGE', ages, 0, 0)[1], ages, sizes)
    total = tonumber(redis.call('HGET', sizes, 'total'))
  end
  for _, key in ipairs({ log, ages, sizes }) do redis.call('PEXPIRE', key, ${MESSAGE_LOG_TTL_MS}) end
  redis.call('PUBLISH', log, id .. '\\n' .. carrier .. '\\n' .. message)
  return id`);

/** log, expected · carrier → id of the last entry */
export const EXPECT = repeatableScript(`
  ${NOW}
  local log, expected = unpack(KEYS)
  redis.call('ZADD', expected, now + ${MESSAGE_LOG_TTL_MS}, ARGV[1])
  redis.call('ZREMRANGEBYSCORE', expected, '-inf', now)
  redis.call('ZREMRANGEBYRANK', expected, 0, -${MAX_EXPECTED + 1})
  redis.call('PEXPIRE', expected, ${MESSAGE_LOG_TTL_MS})
  local newest = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
  return newest and newest[1] or '0-0'`);

/** log, expected, calls, ages, sizes */
export const DROP = repeatableScript(`
  ${FORGET}
  forget(KEYS[1], KEYS[4], KEYS[5])
  redis.call('DEL', KEYS[2], KEYS[3])`);
