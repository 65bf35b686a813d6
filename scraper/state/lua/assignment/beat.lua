-- keys: pods; arguments: pod, length of the lease; returns: live pods
-- needs: clock
local pods = KEYS[1]
local pod, lease = unpack(ARGV)
local PODS_KEPT_MS = 3600000

local now = server_now()
redis.call('ZREMRANGEBYSCORE', pods, '-inf', now)
redis.call('ZADD', pods, now + lease, pod)
redis.call('PEXPIRE', pods, PODS_KEPT_MS)
return redis.call('ZRANGE', pods, 0, -1)
