-- keys: nonce, nonces; arguments: nonce, now, expiresAt, live until, permission
-- returns: 1, or 0: another permission has it
-- needs: common/live-until
local key, nonces = unpack(KEYS)
local nonce, now, expires_at, lives_until, permission = unpack(ARGV)

redis.call('ZREMRANGEBYSCORE', nonces, '-inf', now)
if redis.call('ZSCORE', nonces, nonce) then return redis.call('GET', key) == permission and 1 or 0 end
redis.call('SET', key, permission, 'PXAT', lives_until)
redis.call('ZADD', nonces, expires_at, nonce)
live_until(nonces, lives_until)
return 1
