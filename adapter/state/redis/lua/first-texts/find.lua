-- keys: hash; arguments: now, expiresAt, live until; returns: text, or null
local hash = KEYS[1]
local now, expires_at, lives_until = unpack(ARGV)

local ends = tonumber(redis.call('HGET', hash, 'expiresAt') or '0')
if ends <= tonumber(now) then return false end
redis.call('HSET', hash, 'expiresAt', expires_at)
redis.call('PEXPIREAT', hash, lives_until)
return redis.call('HGET', hash, 'text')
