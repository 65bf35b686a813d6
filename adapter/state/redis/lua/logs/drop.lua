-- keys: log, expected, calls, ages, sizes
-- needs: logs/forget
local log, expected, calls, ages, sizes = unpack(KEYS)

forget(log, ages, sizes)
redis.call('DEL', expected, calls)
