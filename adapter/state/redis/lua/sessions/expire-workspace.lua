-- keys: hash, leases, active, inFlight, tombstones, workspaces, files
-- arguments: member, now, idleBefore, ttl
-- returns: session, 0 when it is gone or was used since, 1 when it is kept for its calls or files
-- needs: sessions/session, sessions/drop-leases, PRINCIPAL, LAST_ACTIVE_AT, EXPIRES_AT
local hash, leases, active, in_flight, _, workspaces, files = unpack(KEYS)
local member, now, idle_before, ttl = unpack(ARGV)

local session = read_session(hash)
if not session[PRINCIPAL] or session[EXPIRES_AT] then
  redis.call('ZREM', workspaces, member)
  return 0
end
if tonumber(session[LAST_ACTIVE_AT]) >= tonumber(idle_before) then
  redis.call('ZADD', workspaces, session[LAST_ACTIVE_AT], member)
  redis.call('PEXPIRE', workspaces, ttl)
  return 0
end
if redis.call('ZCOUNT', leases, '(' .. now, '+inf') > 0 or redis.call('EXISTS', files) == 1 then return 1 end
drop_leases(leases, in_flight, member)
redis.call('DEL', hash)
redis.call('ZREM', active, member)
redis.call('ZREM', workspaces, member)
return session
