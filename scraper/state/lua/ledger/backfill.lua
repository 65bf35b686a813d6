-- keys: those of the ledger; arguments: windows; returns: how many were not open already
-- needs: ledger/ledger
local ledger, windows = ledger_of(KEYS), ARGV[1]

local added = 0
for start, stop in string.gmatch(windows, '(%-?%d+),(%-?%d+)') do
  added = added + open(ledger, 'backfill', start, stop, start, '0')
end
wake_owner(ledger)
keep(ledger)
return added
