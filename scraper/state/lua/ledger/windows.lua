-- keys: windows; returns: id, window, id, window, …
local windows = KEYS[1]

return redis.call('HGETALL', windows)
