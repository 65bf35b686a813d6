-- keys: those of the ledger
-- arguments: id, now, the windows that take its place from its start on
-- returns: 1, or 0 when it is not dead any more
-- needs: ledger/ledger
local ledger = ledger_of(KEYS)
local id, now, windows = unpack(ARGV)

local w = read(ledger, id)
if not w or w.state ~= 'dead' or windows == '' then return 0 end
drop(ledger, id)
for start, stop in string.gmatch(windows, '(%-?%d+),(%-?%d+)') do
  open(ledger, w.kind, start, stop, now, w.may)
  w.start = stop
end
local rest = w.kind .. ':' .. w.start .. '-' .. w.stop
local other = read(ledger, rest)
if tonumber(w.start) < tonumber(w.stop) and (not other or other.state == 'committed') then put(ledger, rest, w) end
wake_owner(ledger)
keep(ledger)
return 1
