-- Lets everything about the session's files live as long as the session.
--
-- keys: those of a place, servers; arguments: name, ttl
-- needs: files/place, files/note-server
local place, servers = place_of(KEYS, ARGV), KEYS[8]

keep(place)
note_server(servers, place.name, place.ttl)
