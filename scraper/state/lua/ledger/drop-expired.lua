-- keys: fp_until of several sources; arguments: now; returns: how many were removed
local now = ARGV[1]

local removed = 0
for _, key in ipairs(KEYS) do removed = removed + redis.call('ZREMRANGEBYSCORE', key, '-inf', '(' .. now) end
return removed
