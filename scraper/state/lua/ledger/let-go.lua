-- keys: those of the ledger; arguments: id; returns: 1
local source, field = KEYS[1], 'begun:' .. ARGV[1]

if redis.call('HEXISTS', source, field) == 1 and redis.call('HINCRBY', source, field, -1) < 1 then
  redis.call('HDEL', source, field)
end
return 1
