-- keys: hash, active, tombstones, reservations; arguments: member, principal, now, maxActive or '', dead, ttl
-- returns: session, or 0
-- needs: sessions/session, sessions/places-taken, PRINCIPAL, LAST_ACTIVE_AT, EXPIRES_AT, REASON
local hash, active, tombstones, reservations = unpack(KEYS)
local member, principal, now, max_active, dead, ttl = unpack(ARGV)

local session = read_session(hash)
if session[PRINCIPAL] ~= principal or session[REASON] or not session[EXPIRES_AT] then return session end
if tonumber(session[EXPIRES_AT]) <= tonumber(now) then return session end
if max_active ~= '' and places_taken(active, reservations, now, dead) >= tonumber(max_active) then return 0 end
redis.call('HDEL', hash, 'expiresAt')
redis.call('HSET', hash, 'lastActiveAt', now, 'renewedAt', now)
redis.call('PEXPIRE', hash, ttl)
redis.call('ZREM', tombstones, member)
redis.call('ZADD', active, now, member)
redis.call('PEXPIRE', active, ttl)
session[EXPIRES_AT] = false
session[LAST_ACTIVE_AT] = now
return session
