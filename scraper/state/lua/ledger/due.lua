-- keys: those of the ledger; arguments: now, limit; returns: id, window, id, window, …
-- needs: ledger/listed
local _, windows, due, due_backfill = unpack(KEYS)
local now, limit = ARGV[1], tonumber(ARGV[2])

local found = {}
for _, key in ipairs({ due, due_backfill }) do
  local left = limit - #found / 2
  if left > 0 then add_windows(found, windows, redis.call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, left)) end
end
return found
