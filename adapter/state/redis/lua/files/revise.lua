-- keys: those of a place; arguments: name, ttl, version that it must be of, field, file; returns: 1 or 0
-- needs: files/owner, files/change
local place = place_of(KEYS, ARGV)
local version, field, value = tonumber(ARGV[3]), ARGV[4], ARGV[5]

local is_active = owner_of(place.session).active
local before = read(place.files, field)
if not is_active or not before or before.state ~= 'committed' then return 0 end
if (cjson.decode(before.rest).version or 1) ~= version then return 0 end
local file = decode(field, value)
file.lease, file.uses, file.used = before.lease, before.uses, math.max(before.used, file.used)
write(place, file, before)
finish(place)
return 1
