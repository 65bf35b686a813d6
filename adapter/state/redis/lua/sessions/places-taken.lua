-- Active sessions and reservations that still count. `dead`: sessions last active before it have expired.
local function places_taken(active, reservations, now, dead)
  redis.call('ZREMRANGEBYSCORE', active, '-inf', '(' .. dead)
  redis.call('ZREMRANGEBYSCORE', reservations, '-inf', now)
  return redis.call('ZCARD', active) + redis.call('ZCARD', reservations)
end
