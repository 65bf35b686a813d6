-- keys: those of the ledger; arguments: id, now, the windows that take its place from its start on
-- returns: 1, or 0 when it is not dead any more
-- needs: ledger/ledger
local ledger = ledger_of(KEYS)
local id, now, windows = unpack(ARGV)

local window = read(ledger, id)
if not window or window.state ~= 'dead' or windows == '' then return 0 end
drop(ledger, id)
for start, stop in string.gmatch(windows, '(%-?%d+),(%-?%d+)') do
  open(ledger, window.kind, start, stop, now, window.may)
  window.start = stop
end
local rest = window.kind .. ':' .. window.start .. '-' .. window.stop
local other = read(ledger, rest)
local is_left = tonumber(window.start) < tonumber(window.stop)
if is_left and (not other or other.state == 'committed') then put(ledger, rest, window) end
wake_owner(ledger)
keep(ledger)
return 1
