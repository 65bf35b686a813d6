-- The expiry was renewed when the call began, or since.
--
-- keys: hash, leases, active, inFlight, places…; arguments: member, id, now, calls of places…
-- needs: sessions/note-activity, limits/leave-places
local hash, leases, active, in_flight = unpack(KEYS, 1, 4)
local member, id, now = unpack(ARGV, 1, 3)

leave_places(KEYS, 5, ARGV, 4, id)
redis.call('ZREM', in_flight, member .. '\n' .. id)
if redis.call('ZREM', leases, id) == 0 then return end
local last_active = redis.call('HGET', hash, 'lastActiveAt')
if last_active then note_activity(hash, active, member, last_active, now) end
