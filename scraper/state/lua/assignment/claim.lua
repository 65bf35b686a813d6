-- A source is free when it has no owner or a dead one. Its token then becomes at least the time, so that it is higher
-- than all before also after Redis has lost its data.
--
-- keys: pods, sources…; arguments: pod, 1 or 0 for each source: whether it is wanted
-- returns: of each source the token and how often something was asked for, with a blank between; '' if it is another's
-- needs: clock, SOURCE_KEPT_MS
local pods, pod = KEYS[1], ARGV[1]

local now = server_now()
local function lives(name)
  local till = redis.call('ZSCORE', pods, name)
  return till and tonumber(till) > now
end

local tokens = {}
local alive = lives(pod)
for i = 2, #KEYS do
  local source, wanted = KEYS[i], ARGV[i]
  local owner, token, asked = unpack(redis.call('HMGET', source, 'owner', 'token', 'asked'))
  if alive and owner ~= pod and wanted == '1' and not (owner and lives(owner)) then
    token = string.format('%.0f', math.max(tonumber(token or 0) + 1, now))
    owner = pod
    redis.call('HSET', source, 'owner', pod, 'token', token)
    redis.call('PEXPIRE', source, SOURCE_KEPT_MS)
  end
  tokens[i - 1] = owner == pod and token .. ' ' .. (asked or '0') or ''
end
return tokens
