-- keys: source; arguments: pod; returns: 1 or 0
local source, pod = KEYS[1], ARGV[1]

if redis.call('HGET', source, 'owner') ~= pod then return 0 end
return redis.call('HDEL', source, 'owner')
