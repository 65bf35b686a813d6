-- keys: session, files; arguments: field, now, ttlMs or ''; returns: file or null
-- needs: files/owner, files/file, files/is-there
local session, files = unpack(KEYS)
local field, now, ttl = unpack(ARGV)

local file = read(files, field)
return is_there(file, now, ttl) and may_come_back(owner_of(session), now) and encode(file)
