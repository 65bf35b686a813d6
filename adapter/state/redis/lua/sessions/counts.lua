-- keys: active, inFlight, tombstones; arguments: now, dead; returns: sessions, tombstones, calls in flight
local active, in_flight, tombstones = unpack(KEYS)
local now, dead = unpack(ARGV)

redis.call('ZREMRANGEBYSCORE', active, '-inf', '(' .. dead)
redis.call('ZREMRANGEBYSCORE', in_flight, '-inf', now)
return {
  redis.call('ZCARD', active),
  redis.call('ZCOUNT', tombstones, '(' .. now, '+inf'),
  redis.call('ZCARD', in_flight),
}
