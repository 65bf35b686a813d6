-- keys: those of the ledger
-- arguments: token, id, next attempt at or '', now, may have arrived (0 or 1), error, replaced (0 or 1)
-- returns: 1 or 0
-- needs: ledger/ledger, WINDOWS_KEPT
local ledger = ledger_of(KEYS)
local token, id, next_attempt, now, may_have_arrived, error_text, is_replaced = unpack(ARGV)

local window = open_window(ledger, token, id)
if not window then return 0 end
if may_have_arrived == '1' or window.state == 'exported' then window.may = '1' end
if is_replaced ~= '1' then ended(ledger, id) end
window.attempts = tostring(tonumber(window.attempts) + 1)
window.error = error_text
window.state = next_attempt == '' and 'dead' or 'open'
window.at = next_attempt == '' and now or next_attempt
if window.state == 'dead' and window.start ~= window.stop then
  for _, other in ipairs(redis.call('ZRANGE', ledger.dead, 0, -1)) do
    local found = read(ledger, other)
    local touches = found.stop == window.start or found.start == window.stop
    if found.kind == window.kind and found.start ~= found.stop and touches then
      if found.stop == window.start then window.start = found.start else window.stop = found.stop end
      if found.may == '1' then window.may = '1' end
      drop(ledger, other)
    end
  end
  drop(ledger, id)
  id = window.kind .. ':' .. window.start .. '-' .. window.stop
end
put(ledger, id, window)
if window.state == 'dead' and window.start == window.stop then
  local moments = {}
  for _, other in ipairs(redis.call('ZRANGE', ledger.dead, 0, -1)) do
    local found = read(ledger, other)
    if found.start == found.stop then moments[#moments + 1] = other end
  end
  for i = 1, #moments - WINDOWS_KEPT do drop(ledger, moments[i]) end
end
keep(ledger)
return 1
