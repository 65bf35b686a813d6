-- keys: nonce, nonces; arguments: nonce; returns: permission, to one caller only, or null
local key, nonces = unpack(KEYS)
local nonce = ARGV[1]

redis.call('ZREM', nonces, nonce)
return redis.call('GETDEL', key)
