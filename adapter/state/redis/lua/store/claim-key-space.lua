-- Looks through the other replicas, and notes this one unless one of them is of another adapter. A hash: replica →
-- `<end by the server's clock> <identity as JSON>`.
--
-- keys: replicas; arguments: replica, its identity as JSON, ttl
-- returns: the identity of a replica of another adapter, or ''
-- needs: common/clock
local replicas = KEYS[1]
local replica, identity, ttl = unpack(ARGV)

local function is_other(mine, other)
  if mine.name ~= cjson.null and other.name ~= cjson.null then return mine.name ~= other.name end
  local is_common = false
  for id, origin in pairs(mine.servers) do
    local theirs = other.servers[id]
    if theirs ~= nil and theirs ~= origin then return true end
    if theirs ~= nil then is_common = true end
  end
  return not is_common
end

local now = server_now()
local mine = cjson.decode(identity)
local all = redis.call('HGETALL', replicas)
for i = 1, #all, 2 do
  local ends, text = string.match(all[i + 1], '^(%d+) (.*)$')
  if ends == nil or tonumber(ends) <= now then
    redis.call('HDEL', replicas, all[i])
  elseif all[i] ~= replica and is_other(mine, cjson.decode(text)) then
    return text
  end
end
redis.call('HSET', replicas, replica, string.format('%d %s', now + ttl, identity))
redis.call('PEXPIRE', replicas, ttl)
return ''
