-- keys: active, reservations; arguments: member, maxActive, now, dead, expiresAt, ttl; returns: 1 or 0
-- needs: sessions/places-taken
local active, reservations = unpack(KEYS)
local member, max_active, now, dead, expires_at, ttl = unpack(ARGV)

redis.call('ZREM', reservations, member)
if places_taken(active, reservations, now, dead) >= tonumber(max_active) then return 0 end
redis.call('ZADD', reservations, expires_at, member)
redis.call('PEXPIRE', reservations, ttl)
return 1
