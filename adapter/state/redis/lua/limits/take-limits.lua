-- The same as `tables/gcra.ts` and `tables/limit-rules.ts`. The keys of limits are the last ones of a script, from
-- `first_key` on: first those of the rates, then those of the places. Their values are the last ones too, from
-- `first_value` on: how many rates, and for each interval, burst and calls; for each key of places how many
-- there may be, and calls.
-- Returns what the script must return at a limit, or false.
--
-- needs: common/live-until
local function take_limits(keys, first_key, values, first_value, now, id, until_time)
  local rates = tonumber(values[first_value])
  local first_place, value = first_key + rates, first_value + 3 * rates + 1
  if keys[first_place] and redis.call('ZSCORE', keys[first_place], id .. ':0') then return false end
  local now_us = now * 1000
  local longest, refusing = 0, 0
  local moved = {}
  for i = 1, rates do
    local at = first_value + 3 * i - 2
    local interval, burst, calls = tonumber(values[at]), tonumber(values[at + 1]), tonumber(values[at + 2])
    local free = tonumber(redis.call('GET', keys[first_key + i - 1]) or '0')
    moved[i] = math.max(free, now_us) + calls * interval
    local wait = moved[i] - now_us - burst * interval
    if wait > longest then longest, refusing = wait, i end
  end
  if refusing > 0 then return { 'rate', refusing - 1, string.format('%.0f', longest) } end
  for i = first_place, #keys do
    redis.call('ZREMRANGEBYSCORE', keys[i], '-inf', now)
    local at = value + 2 * (i - first_place)
    local most, calls = tonumber(values[at]), tonumber(values[at + 1])
    if redis.call('ZCARD', keys[i]) + calls > most then return { 'places', i - first_place, '0' } end
  end
  for i = 1, rates do
    local ttl = math.ceil((moved[i] - now_us) / 1000)
    redis.call('SET', keys[first_key + i - 1], string.format('%.0f', moved[i]), 'PX', string.format('%.0f', ttl))
  end
  for i = first_place, #keys do
    for n = 0, tonumber(values[value + 2 * (i - first_place) + 1]) - 1 do
      redis.call('ZADD', keys[i], until_time, id .. ':' .. n)
    end
    live_until(keys[i], until_time)
  end
  return false
end
