-- keys: hash, leases, active, inFlight, tombstones; arguments: member, reason, expiresAt, live until
-- returns: 1 or 0
-- needs: sessions/session, sessions/drop-leases, common/live-until, PRINCIPAL, REASON
local hash, leases, active, in_flight, tombstones = unpack(KEYS)
local member, reason, expires_at, lives_until = unpack(ARGV)

local session = read_session(hash)
if not session[PRINCIPAL] then return 0 end
if session[REASON] then return 1 end
drop_leases(leases, in_flight, member)
redis.call('HSET', hash, 'expiresAt', expires_at, 'reason', reason)
redis.call('PEXPIREAT', hash, lives_until)
redis.call('ZREM', active, member)
redis.call('ZADD', tombstones, expires_at, member)
live_until(tombstones, lives_until)
return 1
