-- keys: hash, active; arguments: member, principal, now, ttl, renewBefore; returns: session
-- needs: sessions/session, sessions/note-activity, sessions/renew-expiry
-- needs: PRINCIPAL, LAST_ACTIVE_AT, EXPIRES_AT, RENEWED_AT
local hash, active = unpack(KEYS)
local member, principal, now, ttl, renew_before = unpack(ARGV)

local session = read_session(hash)
if session[PRINCIPAL] ~= principal or session[EXPIRES_AT] then return session end
session[LAST_ACTIVE_AT] = note_activity(hash, active, member, session[LAST_ACTIVE_AT], now)
renew_expiry(hash, active, session[RENEWED_AT], now, ttl, renew_before)
return session
