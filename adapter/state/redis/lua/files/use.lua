-- A use that is counted twice ends with its lease.
--
-- keys: those of a place; arguments: name, ttl, field, now, ttlMs or '', leaseUntil or 0
-- returns: file or null
-- needs: files/owner, files/is-there, files/change
local place = place_of(KEYS, ARGV)
local field, now, ttl, lease_until = ARGV[3], tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6])

local file = read(place.files, field)
if not is_there(file, now, ttl) or not may_come_back(owner_of(place.session), now) then return false end
if file.lease <= now then file.uses = 0 end
if lease_until > now then file.uses = file.uses + 1 end
file.used = math.max(file.used, now)
file.lease = math.max(file.lease, lease_until)
write(place, file, file)
redis.call('PEXPIRE', index_of(place, file), place.ttl)
return encode(file)
