-- Renews the expiry of an active session if that was last done before `renew_before`; whether it did.
local function renew_expiry(hash, active, renewed, now, ttl, renew_before)
  if tonumber(renewed) >= tonumber(renew_before) then return false end
  redis.call('HSET', hash, 'renewedAt', now)
  redis.call('PEXPIRE', hash, ttl)
  redis.call('PEXPIRE', active, ttl)
  return true
end
