-- keys: hash; arguments: text, now, expiresAt, live until; returns: the text that was there first
local hash = KEYS[1]
local text, now, expires_at, lives_until = unpack(ARGV)

local ends = tonumber(redis.call('HGET', hash, 'expiresAt') or '0')
if ends <= tonumber(now) then redis.call('HSET', hash, 'text', text) end
redis.call('HSET', hash, 'expiresAt', expires_at)
redis.call('PEXPIREAT', hash, lives_until)
return redis.call('HGET', hash, 'text')
