-- keys: places…; arguments: id, until, calls…
-- needs: common/live-until
local id, until_time = unpack(ARGV, 1, 2)

for i = 1, #KEYS do
  for n = 0, tonumber(ARGV[2 + i]) - 1 do redis.call('ZADD', KEYS[i], 'XX', until_time, id .. ':' .. n) end
  if redis.call('EXISTS', KEYS[i]) == 1 then live_until(KEYS[i], until_time) end
end
