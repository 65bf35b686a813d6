-- keys: those of the ledger
-- arguments: token, id, next attempt at or '', now, may have arrived (0 or 1), error, replaced (0 or 1)
-- returns: 1 or 0
-- needs: ledger/ledger, WINDOWS_KEPT
local ledger = ledger_of(KEYS)
local token, id, next_attempt, now, may_have_arrived, error_text, is_replaced = unpack(ARGV)

local w = open_window(ledger, token, id)
if not w then return 0 end
if may_have_arrived == '1' or w.state == 'exported' then w.may = '1' end
if is_replaced ~= '1' then ended(ledger, id) end
w.attempts = tostring(tonumber(w.attempts) + 1)
w.error = error_text
w.state = next_attempt == '' and 'dead' or 'open'
w.at = next_attempt == '' and now or next_attempt
if w.state == 'dead' and w.start ~= w.stop then
  for _, other in ipairs(redis.call('ZRANGE', ledger.dead, 0, -1)) do
    local o = read(ledger, other)
    local touches = o.stop == w.start or o.start == w.stop
    if o.kind == w.kind and o.start ~= o.stop and touches then
      if o.stop == w.start then w.start = o.start else w.stop = o.stop end
      if o.may == '1' then w.may = '1' end
      drop(ledger, other)
    end
  end
  drop(ledger, id)
  id = w.kind .. ':' .. w.start .. '-' .. w.stop
end
put(ledger, id, w)
if w.state == 'dead' and w.start == w.stop then
  local moments = {}
  for _, other in ipairs(redis.call('ZRANGE', ledger.dead, 0, -1)) do
    local o = read(ledger, other)
    if o.start == o.stop then moments[#moments + 1] = other end
  end
  for i = 1, #moments - WINDOWS_KEPT do drop(ledger, moments[i]) end
end
keep(ledger)
return 1
