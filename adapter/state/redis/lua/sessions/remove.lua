-- keys: hash, leases, active, inFlight, tombstones; arguments: member; returns: session
-- needs: sessions/session, sessions/drop-leases
local hash, leases, active, in_flight, tombstones = unpack(KEYS)
local member = ARGV[1]

local session = read_session(hash)
drop_leases(leases, in_flight, member)
redis.call('DEL', hash)
redis.call('ZREM', active, member)
redis.call('ZREM', tombstones, member)
return session
