-- keys: those of a place, servers; arguments: name, ttl, fields and files…; returns: how many were added
-- needs: files/owner, files/change, files/note-server
local place, servers = place_of(KEYS, ARGV), KEYS[8]

if not owner_of(place.session).alive then return 0 end
local adopted = 0
for i = 3, #ARGV, 2 do
  if not read(place.files, ARGV[i]) then
    write(place, decode(ARGV[i], ARGV[i + 1]))
    adopted = adopted + 1
  end
end
finish(place)
note_server(servers, place.name, place.ttl)
return adopted
