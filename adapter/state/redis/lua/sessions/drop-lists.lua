-- keys: hash
local hash = KEYS[1]

if redis.call('EXISTS', hash) == 1 then redis.call('HINCRBY', hash, 'listsGeneration', 1) end
