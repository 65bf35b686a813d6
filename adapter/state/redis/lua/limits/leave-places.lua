-- Gives back the places under all keys from `first_key` on; their numbers of calls are
-- the values from `first_value` on.
local function leave_places(keys, first_key, values, first_value, id)
  for i = first_key, #keys do
    for n = 0, tonumber(values[first_value + i - first_key]) - 1 do
      redis.call('ZREM', keys[i], id .. ':' .. n)
    end
  end
end
