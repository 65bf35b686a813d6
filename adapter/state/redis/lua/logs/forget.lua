-- Deletes a log, and gives its bytes back.
local function forget(log, ages, sizes)
  local size = redis.call('HGET', sizes, log)
  redis.call('DEL', log)
  redis.call('ZREM', ages, log)
  if not size then return end
  redis.call('HDEL', sizes, log)
  redis.call('HINCRBY', sizes, 'total', -size)
end
