-- keys: session, files; arguments: now; returns: fields and files…
-- needs: files/owner
local session, files = unpack(KEYS)
local now = ARGV[1]

return may_come_back(owner_of(session), now) and redis.call('HGETALL', files) or {}
