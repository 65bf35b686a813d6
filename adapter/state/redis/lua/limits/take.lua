-- Without places, twice takes twice: that admits less, never more.
--
-- keys: rates and places…; arguments: now, id, until, values of limits…; returns: null, or what refuses
-- needs: limits/take-limits
local now, id, until_time = unpack(ARGV, 1, 3)

return take_limits(KEYS, 1, ARGV, 4, now, id, until_time)
