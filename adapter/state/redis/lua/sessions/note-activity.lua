-- Notes that an active session was used; returns when it was used last.
local function note_activity(hash, active, member, last_active, now)
  if tonumber(now) <= tonumber(last_active) then return last_active end
  redis.call('HSET', hash, 'lastActiveAt', now)
  redis.call('ZADD', active, now, member)
  return now
end
