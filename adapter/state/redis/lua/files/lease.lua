-- keys: those of a place; arguments: name, ttl, leaseUntil, fields…
-- needs: files/change
local place, lease_until = place_of(KEYS, ARGV), tonumber(ARGV[3])

for i = 4, #ARGV do
  local file = read(place.files, ARGV[i])
  if file and file.lease < lease_until and (file.state == 'pending' or file.lease > 0) then
    file.lease = lease_until
    write(place, file, file)
  end
end
finish(place)
