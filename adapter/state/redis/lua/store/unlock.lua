-- keys: lock; arguments: owner
local lock, owner = KEYS[1], ARGV[1]

if redis.call('GET', lock) == owner then redis.call('DEL', lock) end
