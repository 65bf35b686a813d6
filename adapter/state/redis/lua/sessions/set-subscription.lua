-- keys: hash; arguments: uri, 1 or 0, the most subscriptions, the most bytes of them
local hash = KEYS[1]
local uri, subscribed, most, most_bytes = unpack(ARGV)

local stored = redis.call('HGET', hash, 'subscriptions')
if not stored then return end
local uris = {}
for _, one in ipairs(cjson.decode(stored)) do
  if one ~= uri then uris[#uris + 1] = one
  elseif subscribed == '1' then return end
end
if subscribed == '1' then
  if #uris >= tonumber(most) or #stored + #uri > tonumber(most_bytes) then return end
  uris[#uris + 1] = uri
end
-- An empty table would become {}, not [].
redis.call('HSET', hash, 'subscriptions', #uris == 0 and '[]' or cjson.encode(uris))
