-- keys: sessions…, files… in the same order
-- returns: places (from 0) of those whose session or whose files are gone
local gone = {}
local half = #KEYS / 2
for i = 1, half do
  local principal, reason = unpack(redis.call('HMGET', KEYS[i], 'principal', 'reason'))
  if not principal or reason or redis.call('EXISTS', KEYS[half + i]) == 0 then gone[#gone + 1] = i - 1 end
end
return gone
