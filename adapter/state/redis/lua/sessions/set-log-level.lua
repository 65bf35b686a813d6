-- keys: hash; arguments: params
local hash, params = KEYS[1], ARGV[1]

if redis.call('EXISTS', hash) == 1 then redis.call('HSET', hash, 'logLevel', params) end
