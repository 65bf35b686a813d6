-- Sums the totals up anew. The keys of files are not given because there is one for each session.
--
-- keys: fileSessions, fileTotals; arguments: what the keys of files begin with, ttl
local sessions, totals = unpack(KEYS)
local prefix, ttl = unpack(ARGV)

local sums = { uc = 0, up = 0, ub = 0, ac = 0, ap = 0, ab = 0 }
for _, name in ipairs(redis.call('ZRANGE', sessions, 0, -1)) do
  for field, sum in pairs(sums) do
    sums[field] = sum + tonumber(redis.call('HGET', prefix .. name, '#' .. field) or 0)
  end
end
for field, sum in pairs(sums) do redis.call('HSET', totals, field, sum) end
redis.call('PEXPIRE', totals, ttl)
