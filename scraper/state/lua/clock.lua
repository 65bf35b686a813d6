-- By the server's clock, since those of pods differ: milliseconds since the epoch, without a fraction.
local function server_now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
