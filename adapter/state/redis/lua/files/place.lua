-- Where the files of a session stand: what the first keys and arguments of every script that changes them are.
local function place_of(keys, arguments)
  local session, files, sessions, totals, uploads, artifacts, pending = unpack(keys, 1, 7)
  return {
    session = session, files = files, sessions = sessions, totals = totals, uploads = uploads, artifacts = artifacts,
    pending = pending, name = arguments[1], ttl = arguments[2],
  }
end

-- Renews the expiry of all that was written.
local function keep(place)
  for _, kind in ipairs({ 'files', 'sessions', 'totals', 'uploads', 'artifacts', 'pending' }) do
    redis.call('PEXPIRE', place[kind], place.ttl)
  end
end
