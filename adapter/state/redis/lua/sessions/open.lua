-- keys: hash, leases, active, inFlight, tombstones, reservations, servers, and workspaces for one
-- arguments: member, lastActiveAt, ttl, ttl of files, fields and values…
-- needs: sessions/drop-leases, files/note-server
local hash, leases, active, in_flight, tombstones, reservations, servers, workspaces = unpack(KEYS)
local member, last_active, ttl, files_ttl = unpack(ARGV, 1, 4)

drop_leases(leases, in_flight, member)
redis.call('DEL', hash)
redis.call('HSET', hash, unpack(ARGV, 5))
redis.call('PEXPIRE', hash, ttl)
redis.call('ZADD', active, last_active, member)
redis.call('PEXPIRE', active, ttl)
redis.call('ZREM', tombstones, member)
redis.call('ZREM', reservations, member)
note_server(servers, member, files_ttl)
if workspaces then
  redis.call('ZADD', workspaces, last_active, member)
  redis.call('PEXPIRE', workspaces, ttl)
end
