-- As `reservation`, by the server's clock.
--
-- keys: host; arguments: requests, milliseconds that they are for, burst; returns: milliseconds to wait
local host = KEYS[1]
local requests, per_ms, burst = unpack(ARGV)

local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local share = per_ms / requests
local from = math.max(tonumber(redis.call('GET', host) or now), now)
local next_at = from + share
redis.call('SET', host, string.format('%.3f', next_at), 'PX', math.max(1, math.ceil(next_at - now)))
return math.max(0, math.ceil(from - (burst - 1) * share - now))
