-- Drops the session's leases in both places that know them.
local function drop_leases(leases, in_flight, member)
  for _, id in ipairs(redis.call('ZRANGE', leases, 0, -1)) do
    redis.call('ZREM', in_flight, member .. '\n' .. id)
  end
  redis.call('DEL', leases)
end
