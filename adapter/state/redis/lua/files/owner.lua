-- What the session's hash says: active; alive, that is, active or a tombstone that its client may still find.
local function owner_of(hash)
  local principal, ends, reason = unpack(redis.call('HMGET', hash, 'principal', 'expiresAt', 'reason'))
  return { active = principal and not ends, alive = principal and not reason, ends = ends }
end

-- Not invalidated, and if it is a tombstone, not over.
local function may_come_back(owner, now)
  return owner.alive and (owner.active or tonumber(owner.ends) > tonumber(now))
end
