-- keys: those of the ledger; returns: id, window, id, window, …
-- needs: ledger/listed
local _, windows, _, _, _, dead = unpack(KEYS)

local found = {}
add_windows(found, windows, redis.call('ZRANGE', dead, 0, -1))
return found
