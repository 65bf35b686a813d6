-- keys: those of the ledger
-- arguments: token, id
-- returns: 1 or 0
-- needs: ledger/ledger
local ledger = ledger_of(KEYS)
local token, id = unpack(ARGV)

local w = open_window(ledger, token, id)
if not w then return 0 end
if w.state ~= 'open' then w.may = '1' end
w.state = 'exporting'
put(ledger, id, w)
return 1
