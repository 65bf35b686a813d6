-- keys: those of a place; arguments: name, ttl, field; returns: file or null
-- needs: files/change
local place, field = place_of(KEYS, ARGV), ARGV[3]

local file = read(place.files, field)
if not file then return false end
drop(place, file)
finish(place)
return encode(file)
