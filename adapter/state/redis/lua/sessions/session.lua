-- The values of a session's fields in the order of SESSION_FIELDS, false for those that are absent.
--
-- needs: SESSION_FIELDS
local function read_session(hash)
  return redis.call('HMGET', hash, unpack(SESSION_FIELDS))
end
