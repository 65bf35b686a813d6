-- keys: hash, tombstones; arguments: member, now
-- returns: session, or 0 when another client has it or it was revived
-- needs: sessions/session, EXPIRES_AT
local hash, tombstones = unpack(KEYS)
local member, now = unpack(ARGV)

local session = read_session(hash)
if session[EXPIRES_AT] and tonumber(session[EXPIRES_AT]) > tonumber(now) then return 0 end
redis.call('ZREM', tombstones, member)
if not session[EXPIRES_AT] then return 0 end
redis.call('DEL', hash)
return session
