-- keys: hash, leases, active, inFlight, and those of limits…
-- arguments: member, principal, now, lease id, until, maxInFlight or '', ttl, renewBefore, 1: uncounted or 0, and
--   those of limits…
-- returns: session, or 0 at the limit of the session, or what else refuses
-- needs: sessions/session, sessions/note-activity, sessions/renew-expiry, limits/take-limits
-- needs: PRINCIPAL, LAST_ACTIVE_AT, EXPIRES_AT, RENEWED_AT
local hash, leases, active, in_flight = unpack(KEYS, 1, 4)
local member, principal, now, lease, until_time, max_in_flight, ttl, renew_before, uncounted = unpack(ARGV, 1, 9)

local session = read_session(hash)
if session[PRINCIPAL] ~= principal or session[EXPIRES_AT] then return session end
if max_in_flight ~= '' then
  redis.call('ZREMRANGEBYSCORE', leases, '-inf', now)
  local full = redis.call('ZCARD', leases) >= tonumber(max_in_flight)
  if full and not redis.call('ZSCORE', leases, lease) then return 0 end
end
if #KEYS > 4 and not redis.call('ZSCORE', leases, lease) then
  local refused = take_limits(KEYS, 5, ARGV, 10, now, lease, until_time)
  if refused then return refused end
end
if uncounted == '0' then
  redis.call('ZADD', leases, until_time, lease)
  redis.call('PEXPIRE', leases, ttl)
  redis.call('ZADD', in_flight, until_time, member .. '\n' .. lease)
  redis.call('PEXPIRE', in_flight, ttl)
end
session[LAST_ACTIVE_AT] = note_activity(hash, active, member, session[LAST_ACTIVE_AT], now)
renew_expiry(hash, active, session[RENEWED_AT], now, ttl, renew_before)
return session
