/*
 * What scripts do to limits. Their keys are the last ones of a script, first those of the rates, then those of the places;
 * their values are the last ones too: how many rates, and for each interval, burst and calls; for each key of places how many
 * there may be, and calls.
 */

/** The same as `tables/gcra.ts` and `tables/limit-rules.ts`. Returns what the script must return at a limit, or false. */
export const TAKE_LIMITS = `
  local function take_limits(first_key, first_value, now, id, until_time)
    local rates = tonumber(ARGV[first_value])
    local first_place, value = first_key + rates, first_value + 3 * rates + 1
    if KEYS[first_place] and redis.call('ZSCORE', KEYS[first_place], id .. ':0') then return false end
    local now_us = now * 1000
    local longest, refusing = 0, 0
    local moved = {}
    for i = 1, rates do
      local at = first_value + 3 * i - 2
      local interval, burst, calls = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
      local free = tonumber(redis.call('GET', KEYS[first_key + i - 1]) or '0')
      moved[i] = math.max(free, now_us) + calls * interval
      local wait = moved[i] - now_us - burst * interval
      if wait > longest then longest, refusing = wait, i end
    end
    if refusing > 0 then return { 'rate', refusing - 1, string.format('%.0f', longest) } end
    for i = first_place, #KEYS do
      redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now)
      local most, calls = tonumber(ARGV[value + 2 * (i - first_place)]), tonumber(ARGV[value + 2 * (i - first_place) + 1])
      if redis.call('ZCARD', KEYS[i]) + calls > most then return { 'places', i - first_place, '0' } end
    end
    for i = 1, rates do
      local ttl = math.ceil((moved[i] - now_us) / 1000)
      redis.call('SET', KEYS[first_key + i - 1], string.format('%.0f', moved[i]), 'PX', string.format('%.0f', ttl))
    end
    for i = first_place, #KEYS do
      for n = 0, tonumber(ARGV[value + 2 * (i - first_place) + 1]) - 1 do
        redis.call('ZADD', KEYS[i], until_time, id .. ':' .. n)
      end
      live_until(KEYS[i], until_time)
    end
    return false
  end`;

/** Gives back the places under all keys from `first_key` on; their numbers of calls are the values from `first_value` on. */
export const LEAVE_PLACES = `
  local function leave_places(first_key, first_value, id)
    for i = first_key, #KEYS do
      for n = 0, tonumber(ARGV[first_value + i - first_key]) - 1 do
        redis.call('ZREM', KEYS[i], id .. ':' .. n)
      end
    end
  end`;
