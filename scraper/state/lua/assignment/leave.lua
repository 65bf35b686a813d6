-- keys: pods; arguments: pod; returns: 1 or 0
local pods, pod = KEYS[1], ARGV[1]

return redis.call('ZREM', pods, pod)
