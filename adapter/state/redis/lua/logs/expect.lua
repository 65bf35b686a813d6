-- keys: log, expected; arguments: carrier; returns: id of the last entry
-- needs: common/clock, MESSAGE_LOG_TTL_MS, MAX_EXPECTED
local log, expected = unpack(KEYS)
local carrier = ARGV[1]

local now = server_now()
redis.call('ZADD', expected, now + MESSAGE_LOG_TTL_MS, carrier)
redis.call('ZREMRANGEBYSCORE', expected, '-inf', now)
redis.call('ZREMRANGEBYRANK', expected, 0, -(MAX_EXPECTED + 1))
redis.call('PEXPIRE', expected, MESSAGE_LOG_TTL_MS)
local newest = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
return newest and newest[1] or '0-0'
