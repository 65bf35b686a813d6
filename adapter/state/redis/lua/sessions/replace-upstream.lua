-- keys: hash
-- arguments: generation, next generation, protocolVersion, then the upstream session id if there is one
-- returns: 1 or 0; 1 also when just that is stored, since the answer to the first attempt may have been lost
local hash = KEYS[1]
local generation, next_generation, protocol_version, upstream_session_id = unpack(ARGV)

local is_at, expires_at, stored_id = unpack(redis.call('HMGET', hash, 'generation', 'expiresAt', 'upstreamSessionId'))
if upstream_session_id and stored_id == upstream_session_id and is_at == next_generation and not expires_at then
  return 1
end
if is_at ~= generation or expires_at then return 0 end
redis.call('HSET', hash, 'generation', next_generation, 'protocolVersion', protocol_version)
if upstream_session_id then redis.call('HSET', hash, 'upstreamSessionId', upstream_session_id)
else redis.call('HDEL', hash, 'upstreamSessionId') end
return 1
