-- The text is a field that SESSION_FIELDS leaves out: it lives and ends with the session, and is read when asked for.
--
-- keys: hash; arguments: fingerprint, text
-- returns: 1 when that is pinned now, what is pinned if it is something else, null without an active session
local hash = KEYS[1]
local fingerprint, text = unpack(ARGV)

local principal, expires_at, pinned = unpack(redis.call('HMGET', hash, 'principal', 'expiresAt', 'baseline'))
if not principal or expires_at then return false end
if pinned == fingerprint then return 1 end
if pinned then return { pinned, redis.call('HGET', hash, 'baselineText') } end
redis.call('HSET', hash, 'baseline', fingerprint, 'baselineText', text)
return 1
