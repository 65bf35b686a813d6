-- keys: those of the ledger; arguments: token, id; returns: 1 or 0
-- needs: ledger/ledger
local ledger = ledger_of(KEYS)
local token, id = unpack(ARGV)

local window = open_window(ledger, token, id)
if not window then return 0 end
if window.state ~= 'open' then window.may = '1' end
window.state = 'exporting'
put(ledger, id, window)
return 1
