import { redisScript } from '../../lib/redis/redis-script.ts';
import { SOURCE_KEPT_MS } from './ledger.ts';

/** By the server's clock, since those of pods differ: milliseconds since the epoch. */
const NOW = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/** pods · pod, length of the lease → live pods */
export const BEAT = redisScript(`${NOW}
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], 3600000)
  return redis.call('ZRANGE', KEYS[1], 0, -1)`);

/**
 * pods, sources… · pod, 1 or 0 for each source: whether it is wanted → of each source the token and how often something
 * was asked for, with a blank between; '' if it is another's
 *
 * A source is free when it has no owner or a dead one. Its token then becomes at least the time, so that it is higher
 * than all before also after Redis has lost its data.
 */
export const CLAIM = redisScript(`${NOW}
  local pod = ARGV[1]
  local tokens = {}
  local function lives(name)
    local till = redis.call('ZSCORE', KEYS[1], name)
    return till and tonumber(till) > now
  end
  local alive = lives(pod)
  for i = 2, #KEYS do
    local owner, token, asked = unpack(redis.call('HMGET', KEYS[i], 'owner', 'token', 'asked'))
    if alive and owner ~= pod and ARGV[i] == '1' and not (owner and lives(owner)) then
      token = string.format('%.0f', math.max(tonumber(token or 0) + 1, now))
      owner = pod
      redis.call('HSET', KEYS[i], 'owner', pod, 'token', token)
      redis.call('PEXPIRE', KEYS[i], ${SOURCE_KEPT_MS})
    end
    tokens[i - 1] = owner == pod and token .. ' ' .. (asked or '0') or ''
  end
  return tokens`);

/** source · pod → 1 or 0 */
export const RELEASE = redisScript(`
  if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
  return redis.call('HDEL', KEYS[1], 'owner')`);

/** pods · pod → 1 or 0 */
export const LEAVE = redisScript(`return redis.call('ZREM', KEYS[1], ARGV[1])`);
