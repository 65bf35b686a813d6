-- Milliseconds since the epoch, without a fraction, by the server's clock.
local function server_now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
