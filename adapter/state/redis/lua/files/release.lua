-- keys: those of a place; arguments: name, ttl, now, fields…
-- needs: files/change
local place, now = place_of(KEYS, ARGV), tonumber(ARGV[3])

for i = 4, #ARGV do
  local file = read(place.files, ARGV[i])
  if file and file.state == 'committed' then
    file.uses = math.max(0, file.uses - 1)
    file.used = math.max(file.used, now)
    if file.uses == 0 then file.lease = 0 end
    write(place, file, file)
  end
end
finish(place)
