-- keys: those of the ledger, fp_until
-- arguments: token, id, now, until, most fingerprints, fingerprints of 32 bytes each; returns: 1 or 0
-- needs: ledger/ledger, WINDOWS_KEPT
local ledger, fingerprints = ledger_of(KEYS), KEYS[8]
local token, id, now, till, most, blob = unpack(ARGV)

if not owns(ledger, token) then return 0 end
local window = read(ledger, id)
if not window then return 0 end
window.state, window.at, window.error = 'committed', now, ''
put(ledger, id, window)
ended(ledger, id)
redis.call('HSET', ledger.source, 'lastCommitAt', now)
local excess = redis.call('ZCARD', ledger.committed) - WINDOWS_KEPT
if excess > 0 then
  for _, old in ipairs(redis.call('ZRANGE', ledger.committed, 0, excess - 1)) do drop(ledger, old) end
end
local pairs_of = {}
for at = 1, #blob, 32 do
  pairs_of[#pairs_of + 1] = till
  pairs_of[#pairs_of + 1] = string.sub(blob, at, at + 31)
  if #pairs_of == 2000 then
    redis.call('ZADD', fingerprints, unpack(pairs_of))
    pairs_of = {}
  end
end
if #pairs_of > 0 then redis.call('ZADD', fingerprints, unpack(pairs_of)) end
if #blob > 0 then
  redis.call('ZREMRANGEBYSCORE', fingerprints, '-inf', '(' .. now)
  local extra = redis.call('ZCARD', fingerprints) - tonumber(most)
  if extra > 0 then redis.call('ZREMRANGEBYRANK', fingerprints, 0, extra - 1) end
  local last = redis.call('ZRANGE', fingerprints, -1, -1, 'WITHSCORES')[2]
  if last then redis.call('PEXPIRE', fingerprints, math.max(1, tonumber(last) - tonumber(now))) end
end
keep(ledger)
return 1
