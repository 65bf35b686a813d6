-- keys: calls; arguments: carrier, call, ttl
local calls = KEYS[1]
local carrier, call, ttl = unpack(ARGV)

redis.call('HSET', calls, carrier, call)
redis.call('PEXPIRE', calls, ttl)
