-- keys: hash, leases, active, inFlight; arguments: member, now, ttl, renewBefore, id and until…
-- returns: 1 when the expiry was renewed
-- needs: sessions/note-activity, sessions/renew-expiry
local hash, leases, active, in_flight = unpack(KEYS)
local member, now, ttl, renew_before = unpack(ARGV, 1, 4)

local running = false
for i = 5, #ARGV, 2 do
  local id, until_time = ARGV[i], ARGV[i + 1]
  if redis.call('ZSCORE', leases, id) then
    running = true
    redis.call('ZADD', leases, until_time, id)
    redis.call('ZADD', in_flight, until_time, member .. '\n' .. id)
    redis.call('PEXPIRE', leases, ttl)
    redis.call('PEXPIRE', in_flight, ttl)
  end
end
local last_active, renewed = unpack(redis.call('HMGET', hash, 'lastActiveAt', 'renewedAt'))
if not running or not last_active then return 0 end
note_activity(hash, active, member, last_active, now)
return renew_expiry(hash, active, renewed, now, ttl, renew_before) and 1 or 0
