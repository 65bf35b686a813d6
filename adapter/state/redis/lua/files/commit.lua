-- keys: those of a place, lock, if it must be held
-- arguments: name, ttl, owner of the lock, fields and files…; returns: 1 or 0
-- needs: files/owner, files/change
local place, lock, holder = place_of(KEYS, ARGV), KEYS[8], ARGV[3]

if not owner_of(place.session).active then return 0 end
if lock and redis.call('GET', lock) ~= holder then return 0 end
local before = {}
for i = 4, #ARGV, 2 do
  before[i] = read(place.files, ARGV[i])
  if not before[i] or before[i].state ~= 'pending' then return 0 end
end
for i = 4, #ARGV, 2 do write(place, decode(ARGV[i], ARGV[i + 1]), before[i]) end
finish(place)
return 1
