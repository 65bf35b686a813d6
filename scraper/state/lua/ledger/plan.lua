-- A source that is planned for the first time inherits the original's fingerprints with the time that these have left.
--
-- keys: those of the ledger, the original's last success and index, fp_until
-- arguments: token, from or '', plannedUntil, the last success that the caller has read or '', start of the original's
--   fingerprint keys, windows (start and end each, comma between)
-- returns: 1, 0, or the text of the original's last success, when it counts and the caller has not read it
-- needs: ledger/ledger, clock
local ledger, last_success, index, fingerprints = ledger_of(KEYS), KEYS[8], KEYS[9], KEYS[10]
local token, from, planned_until, has_read, prefix, windows = unpack(ARGV)

if not owns(ledger, token) then return 0 end
local planned = redis.call('HGET', ledger.source, 'plannedUntil')
if planned then
  if planned ~= from then return 0 end
else
  local original = redis.call('GET', last_success) or ''
  if original ~= has_read then return original end
  if original == '' and from ~= '' then return 0 end
  local now = server_now()
  for _, hash in ipairs(redis.call('ZRANGE', index, 0, -1)) do
    local left = redis.call('PTTL', prefix .. hash)
    if left > 0 and #hash == 64 then
      local bytes = string.gsub(hash, '..', function(hex) return string.char(tonumber(hex, 16)) end)
      redis.call('ZADD', fingerprints, string.format('%.0f', now + left), bytes)
      if redis.call('PTTL', fingerprints) < left then redis.call('PEXPIRE', fingerprints, left) end
    end
  end
end
redis.call('HSET', ledger.source, 'plannedUntil', planned_until)
for start, stop in string.gmatch(windows, '(%-?%d+),(%-?%d+)') do open(ledger, 'scheduled', start, stop, start, '0') end
keep(ledger)
return 1
