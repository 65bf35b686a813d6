-- keys: secret; arguments: new secret, ttl; returns: the secret
local secret = KEYS[1]
local new_secret, ttl = unpack(ARGV)

redis.call('SET', secret, new_secret, 'NX', 'PX', ttl)
redis.call('PEXPIRE', secret, ttl)
return redis.call('GET', secret)
