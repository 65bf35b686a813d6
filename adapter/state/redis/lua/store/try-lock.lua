-- keys: lock; arguments: owner, ttl; returns: 1 or 0
local lock = KEYS[1]
local owner, ttl = unpack(ARGV)

local holder = redis.call('GET', lock)
if holder and holder ~= owner then return 0 end
redis.call('SET', lock, owner, 'PX', ttl)
return 1
