-- keys: hash, leases, active, inFlight, tombstones, and what is known of its files…
-- arguments: member, now, idleBefore, tombstone until or '', live until, files live until
-- returns: session, 0 when it is gone or active again, 1 when it is kept for its calls
-- needs: sessions/session, sessions/drop-leases, common/live-until, PRINCIPAL, LAST_ACTIVE_AT, EXPIRES_AT
local hash, leases, active, in_flight, tombstones = unpack(KEYS, 1, 5)
local member, now, idle_before, tombstone_until, lives_until, files_live_until = unpack(ARGV)

local session = read_session(hash)
if not session[PRINCIPAL] or session[EXPIRES_AT] then
  redis.call('ZREM', active, member)
  return 0
end
if tonumber(session[LAST_ACTIVE_AT]) >= tonumber(idle_before) then return 0 end
if redis.call('ZCOUNT', leases, '(' .. now, '+inf') > 0 then return 1 end
drop_leases(leases, in_flight, member)
redis.call('ZREM', active, member)
if tombstone_until == '' then
  redis.call('DEL', hash)
else
  redis.call('HSET', hash, 'expiresAt', tombstone_until, 'upstreamSessionId', '')
  redis.call('PEXPIREAT', hash, lives_until)
  redis.call('ZADD', tombstones, tombstone_until, member)
  live_until(tombstones, lives_until)
  for i = 6, #KEYS do live_until(KEYS[i], files_live_until) end
end
return session
