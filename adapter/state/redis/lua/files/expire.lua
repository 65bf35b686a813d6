-- keys: those of a place; arguments: name, ttl, now, upload ttl or '', artifact ttl or '', fields…
-- returns: how many fields are in no index any more, then fields and files that were removed…
-- needs: files/change
local place, now = place_of(KEYS, ARGV), tonumber(ARGV[3])
local ttls = { u = tonumber(ARGV[4]), a = tonumber(ARGV[5]) }

local removed, forgotten = {}, 0
for i = 6, #ARGV do
  local file = read(place.files, ARGV[i])
  if not file then
    for _, index in ipairs({ place.uploads, place.artifacts, place.pending }) do
      forgotten = forgotten + redis.call('ZREM', index, member_of(place, ARGV[i]))
    end
  elseif file.lease <= now then
    local ttl = ttls[file.kind]
    if file.state == 'pending' or (ttl and file.used + ttl <= now) then remove(place, file, removed) end
  end
end
finish(place)
table.insert(removed, 1, #removed / 2 + forgotten)
return removed
